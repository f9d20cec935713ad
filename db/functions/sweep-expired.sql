-- Housekeeping over all tenants; nothing that anybody still sees goes.
CREATE OR REPLACE FUNCTION sweep_expired() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE removed integer;
BEGIN
  DELETE FROM sign_in_limits WHERE window_ends_at < now() - interval '1 hour';
  DELETE FROM auth_sessions WHERE expires_at < now() - interval '7 days' OR revoked_at < now() - interval '7 days';
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;
