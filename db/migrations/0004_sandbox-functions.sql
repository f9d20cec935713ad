-- Who calls the gateway: the token is all that a sandbox shows. The caller's rows are then read as that person.
CREATE FUNCTION find_sandbox_token(wanted_hash text)
RETURNS TABLE (token_id uuid, tenant_id uuid, user_id uuid, sandbox_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT t.id, t.tenant_id, t.user_id, t.sandbox_id
  FROM tokens t JOIN users u ON u.id = t.user_id
  WHERE t.hash = wanted_hash AND t.type = 'sandbox' AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.disabled_at IS NULL
$$;
--> statement-breakpoint

-- Boot and takeover: which sandboxes are wanted awake, and whose they are. No content of anybody.
CREATE FUNCTION list_live_sandboxes()
RETURNS TABLE (sandbox_id uuid, tenant_id uuid, user_id uuid, lease_owner text, lease_expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, sandboxes.tenant_id, sandboxes.user_id, sandboxes.lease_owner, sandboxes.lease_expires_at
  FROM sandboxes WHERE observed_state IN ('provisioning', 'running')
$$;
--> statement-breakpoint

-- Boot and takeover: sessions with a turn that somebody still waits for.
CREATE FUNCTION list_waiting_sessions()
RETURNS TABLE (session_id uuid, tenant_id uuid, user_id uuid, sandbox_id uuid, running boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.id, s.tenant_id, s.user_id, s.sandbox_id, bool_or(t.state = 'running')
  FROM turns t JOIN sessions s ON s.id = t.session_id
  WHERE t.state IN ('queued', 'running') GROUP BY s.id
$$;
--> statement-breakpoint

-- Models changed: the sandboxes of the admin's tenant whose agents have to hear of it.
CREATE FUNCTION list_tenant_sandboxes(wanted_tenant uuid) RETURNS TABLE (sandbox_id uuid, user_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, sandboxes.user_id FROM sandboxes
  WHERE sandboxes.tenant_id = wanted_tenant AND observed_state = 'running'
$$;
