-- The servers of this database. One is away when it was not seen for as long as a lease lasts.
CREATE OR REPLACE FUNCTION list_homes() RETURNS TABLE (home_id text, machine text, seen_at timestamptz, is_away boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT h.id, h.machine, h.seen_at, h.seen_at < now() - interval '15 seconds' FROM homes h
$$;
