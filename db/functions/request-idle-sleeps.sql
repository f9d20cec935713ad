-- Asks for the sleep of sandboxes that nobody used for as long as their tenant, or their own row, allows, and that
-- have nothing to do; those that wait longest first. Rows that somebody else is just changing are left for the next
-- look. Returns what was asked for, so that its holders can be told.
CREATE OR REPLACE FUNCTION request_idle_sleeps(most integer, taken_within interval)
RETURNS TABLE (sandbox_id uuid, tenant_id uuid, user_id uuid)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  WITH idle AS (
    SELECT b.id, b.tenant_id, b.user_id, b.lease_epoch
    FROM sandboxes b JOIN tenants n ON n.id = b.tenant_id
    WHERE b.observed_state = 'running' AND b.wanted_state = 'running' AND b.last_active_at < now() - interval '1 minute'
      AND coalesce(b.idle_minutes, n.idle_minutes) > 0
      AND b.last_active_at < now() - make_interval(mins => coalesce(b.idle_minutes, n.idle_minutes))
      AND coalesce(b.keep_awake_until, '-infinity') < now() AND coalesce(b.no_sleep_before, '-infinity') < now()
      AND NOT EXISTS (SELECT FROM operations o WHERE o.sandbox_id = b.id AND o.state IN ('requested', 'running'))
      AND NOT EXISTS (SELECT FROM sessions s JOIN turns t ON t.session_id = s.id
        WHERE s.sandbox_id = b.id AND t.state IN ('running', 'queued'))
    ORDER BY b.last_active_at LIMIT most FOR UPDATE OF b SKIP LOCKED)
  INSERT INTO operations (tenant_id, user_id, sandbox_id, verb, state, phase, reason, lease_epoch, started_at, deadline_at)
  SELECT i.tenant_id, i.user_id, i.id, 'sleep', 'requested', 'quiescing', 'idle', i.lease_epoch, NULL, now() + taken_within
  FROM idle i ON CONFLICT DO NOTHING
  RETURNING operations.sandbox_id, operations.tenant_id, operations.user_id
$$;
