-- Sessions whose agent may still be at work on a turn that has ended. `gone`: what it ran in is over, so there is
-- nothing to end any more.
CREATE OR REPLACE FUNCTION list_unconfirmed_aborts()
RETURNS TABLE (session_id uuid, tenant_id uuid, user_id uuid, sandbox_id uuid, gone boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.id, s.tenant_id, s.user_id, s.sandbox_id,
    b.id IS NULL OR b.boot_id IS DISTINCT FROM s.abort_boot OR b.observed_state NOT IN ('provisioning', 'running')
  FROM sessions s LEFT JOIN sandboxes b ON b.id = s.sandbox_id WHERE s.abort_unconfirmed_at IS NOT NULL
$$;
