-- How many sessions each sandbox holds, the caller's own or, for an admin, all of the tenant: the number, never what
-- is in them.
CREATE OR REPLACE FUNCTION count_sessions() RETURNS TABLE (sandbox_id uuid, sessions integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.sandbox_id, count(*)::integer FROM sessions s
  WHERE s.tenant_id = nullif(current_setting('dormouse.tenant_id', true), '')::uuid
    AND (current_setting('dormouse.role', true) = 'admin'
      OR s.user_id = nullif(current_setting('dormouse.user_id', true), '')::uuid) AND s.sandbox_id IS NOT NULL
  GROUP BY s.sandbox_id
$$;
