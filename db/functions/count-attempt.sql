-- Counts the attempt before it is tried, so that a thousand at once do not slip through together.
-- Returns the seconds to wait, 0 when the attempt may go on.
CREATE OR REPLACE FUNCTION count_attempt(wanted_key text, allowed integer, window_seconds integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE counted sign_in_limits;
BEGIN
  INSERT INTO sign_in_limits AS l (key, failures, window_ends_at)
    VALUES (wanted_key, 1, now() + make_interval(secs => window_seconds))
  ON CONFLICT (key) DO UPDATE SET
    failures = CASE WHEN l.window_ends_at <= now() THEN 1 ELSE least(l.failures + 1, 1000000) END,
    window_ends_at = CASE WHEN l.window_ends_at <= now() THEN excluded.window_ends_at ELSE l.window_ends_at END
  RETURNING * INTO counted;
  IF counted.failures <= allowed THEN RETURN 0; END IF;
  RETURN greatest(1, ceil(extract(epoch FROM counted.window_ends_at - now()))::integer);
END $$;
