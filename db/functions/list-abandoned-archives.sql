-- Archives whose writer is gone: its lease was superseded, let go of or lapsed, or it took longer than any write may.
CREATE OR REPLACE FUNCTION list_abandoned_archives()
RETURNS TABLE (archive_id uuid, tenant_id uuid, user_id uuid, store_key text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT a.id, a.tenant_id, a.user_id, a.store_key
  FROM archives a JOIN sandboxes s ON s.id = a.sandbox_id
  WHERE a.state = 'writing' AND (s.lease_epoch <> a.lease_epoch OR s.lease_owner IS NULL
    OR s.lease_expires_at < now() OR a.created_at < now() - interval '7 hours')
  ORDER BY a.created_at LIMIT 1000
$$;
