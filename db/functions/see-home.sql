-- A server says that it runs, and on which machine.
CREATE OR REPLACE FUNCTION see_home(home text, machine_name text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  INSERT INTO homes (id, machine) VALUES (home, machine_name)
  ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, seen_at = now()
$$;
