-- Boot and takeover: which sandboxes are wanted awake, and whose they are. No content of anybody.
CREATE OR REPLACE FUNCTION list_live_sandboxes()
RETURNS TABLE (sandbox_id uuid, tenant_id uuid, user_id uuid, lease_owner text, lease_expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, sandboxes.tenant_id, sandboxes.user_id, sandboxes.lease_owner, sandboxes.lease_expires_at
  FROM sandboxes WHERE observed_state IN ('provisioning', 'running')
$$;
