-- Which of these keys of the file store some row still names: those of archives, and the fixed key of each sandbox that
-- has a verified history. The others belong to nobody any more.
CREATE OR REPLACE FUNCTION known_store_keys(wanted text[]) RETURNS TABLE (store_key text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT a.store_key FROM archives a WHERE a.store_key = ANY (wanted)
  UNION ALL
  SELECT w.key FROM unnest(wanted) AS w (key)
  JOIN sandboxes b ON w.key = 'sandbox-snapshots/' || b.tenant_id || '/' || b.id || '/opencode-history.tar.gz'
  WHERE EXISTS (SELECT FROM archives a WHERE a.sandbox_id = b.id AND a.kind = 'history' AND a.state = 'verified'
    AND a.history_epoch = b.history_epoch)
$$;
