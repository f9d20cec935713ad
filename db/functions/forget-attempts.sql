-- After a success: earlier failures count no more.
CREATE OR REPLACE FUNCTION forget_attempts(wanted_key text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM sign_in_limits WHERE key = wanted_key
$$;
