-- What was asked for and nobody has taken up yet, and what should be done by now, oldest first: its holder knows whether
-- anybody is still at it. What was not taken up in time has failed.
CREATE OR REPLACE FUNCTION list_requested_operations()
RETURNS TABLE (sandbox_id uuid, tenant_id uuid, user_id uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE operations SET state = 'failed', ended_at = now(), cause = 'No server took this up in time. Try again.'
  WHERE state = 'requested' AND deadline_at < now();
  SELECT o.sandbox_id, o.tenant_id, o.user_id FROM operations o
  WHERE o.state = 'requested' OR (o.state = 'running' AND o.deadline_at < now()) ORDER BY o.requested_at LIMIT 1000
$$;
