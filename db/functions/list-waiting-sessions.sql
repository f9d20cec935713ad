-- Boot and takeover: sessions with a turn that somebody still waits for.
CREATE OR REPLACE FUNCTION list_waiting_sessions()
RETURNS TABLE (session_id uuid, tenant_id uuid, user_id uuid, sandbox_id uuid, running boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.id, s.tenant_id, s.user_id, s.sandbox_id, bool_or(t.state = 'running')
  FROM turns t JOIN sessions s ON s.id = t.session_id
  WHERE t.state IN ('queued', 'running') GROUP BY s.id
$$;
