-- Sandboxes of which no home is known, made by a version before homes: those whose files are in this home, and those
-- that never ran, become its own. Returns how many there were.
CREATE OR REPLACE FUNCTION claim_sandboxes(home text, kinds text[], held uuid[]) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE claimed integer;
BEGIN
  UPDATE sandboxes s SET home_id = home
  WHERE s.backend = ANY (kinds) AND (s.home_id IS NULL OR s.home_id = 'unknown')
    AND (s.id = ANY (held) OR s.boot_id IS NULL)
    AND NOT EXISTS (SELECT FROM sandboxes o WHERE o.user_id = s.user_id AND o.backend = s.backend
      AND o.isolation = s.isolation AND o.private_session_id IS NOT DISTINCT FROM s.private_session_id
      AND o.continued_at IS NOT DISTINCT FROM s.continued_at
      AND (o.home_id = home OR coalesce(o.home_id, 'unknown') = 'unknown' AND o.id < s.id));
  GET DIAGNOSTICS claimed = ROW_COUNT;
  RETURN claimed;
END $$;
