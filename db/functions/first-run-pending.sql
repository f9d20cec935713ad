-- Asked before anybody can be signed in.
CREATE OR REPLACE FUNCTION first_run_pending() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT NOT EXISTS (SELECT FROM tenants)
$$;
