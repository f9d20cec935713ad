-- Why a sandbox may not fall asleep now; null when nothing of its sessions runs or waits. Asked by admins too, who
-- see no turns. Of the caller's tenant alone.
CREATE OR REPLACE FUNCTION sandbox_busy(wanted uuid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT CASE WHEN bool_or(t.state = 'running') THEN 'running' WHEN count(*) > 0 THEN 'queued' END
  FROM turns t JOIN sessions s ON s.id = t.session_id
  WHERE s.sandbox_id = wanted AND t.state IN ('running', 'queued')
    AND s.tenant_id = nullif(current_setting('dormouse.tenant_id', true), '')::uuid
$$;
