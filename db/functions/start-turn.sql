-- A new turn in one round trip, as the person named. The same key gives the turn that is there already.
-- With a held sandbox the turn begins at once, as write_log would begin it, with what a takeover has to
-- know of its prompt: where nothing else of the session runs or waits, the session lives in that sandbox
-- and the lease is still held. The session's row is locked first, as in write_log. `open` is what is to
-- run next. No row when there is no such session; a row without a turn when its queue is full: the figures are
-- those of `queueLimits` in server/protocol/limits.ts.
CREATE OR REPLACE FUNCTION start_turn(
  for_tenant uuid, for_user uuid, for_session uuid, prompt_text text, key text,
  held_sandbox uuid, held_epoch bigint, message_id text, event bigint, boot uuid, origin text)
RETURNS TABLE (turn jsonb, open jsonb, number bigint, version bigint, at timestamptz)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  made turns;
  begun_number bigint;
  begun_version bigint;
  is_full boolean;
  -- As exact as it is stored.
  moment timestamptz := date_trunc('milliseconds', now());
BEGIN
  PERFORM set_config('dormouse.tenant_id', for_tenant::text, true),
    set_config('dormouse.user_id', for_user::text, true), set_config('dormouse.role', 'user', true);
  PERFORM FROM sessions WHERE id = for_session FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  -- A sleep is decided under the full lock of this row: it sees the turn, or the turn sees that it was decided. Nobody
  -- else is kept waiting by this one.
  PERFORM FROM sandboxes b WHERE b.id = (SELECT sandbox_id FROM sessions WHERE id = for_session) FOR KEY SHARE;
  SELECT count(*) >= 50 OR coalesce(sum(octet_length(prompt)), 0) + octet_length(prompt_text) > 4194304 INTO is_full
  FROM turns WHERE session_id = for_session AND state = 'queued';
  INSERT INTO turns (tenant_id, user_id, session_id, prompt, idempotency_key, request_hash, position)
  SELECT for_tenant, for_user, for_session, prompt_text, key,
    encode(sha256(convert_to(prompt_text, 'UTF8')), 'hex'),
    coalesce((SELECT max(position) FROM turns WHERE session_id = for_session), 0) + 1
  WHERE NOT is_full
  ON CONFLICT (session_id, idempotency_key) DO NOTHING RETURNING * INTO made;
  IF made.id IS NULL THEN
    SELECT * INTO made FROM turns WHERE session_id = for_session AND idempotency_key = key;
    IF NOT FOUND THEN
      RETURN QUERY SELECT NULL::jsonb, NULL::jsonb, NULL::bigint, NULL::bigint, moment;
      RETURN;
    END IF;
  ELSIF held_sandbox IS NOT NULL
    AND NOT EXISTS (SELECT FROM turns
      WHERE session_id = for_session AND state IN ('running', 'queued') AND id <> made.id)
    AND EXISTS (SELECT FROM sandboxes b JOIN sessions s ON s.sandbox_id = b.id
      WHERE s.id = for_session AND b.id = held_sandbox AND b.lease_epoch = held_epoch
        AND b.lease_expires_at > now() AND b.wanted_state <> 'sleeping') THEN
    UPDATE sessions s SET last_number = s.last_number + 1, version = s.version + 1, applied_event = event,
      applied_boot = boot, updated_at = now()
    WHERE id = for_session RETURNING s.last_number, s.version INTO begun_number, begun_version;
    UPDATE turns SET state = 'running', started_at = now(), agent_message_id = message_id
    WHERE id = made.id RETURNING * INTO made;
    INSERT INTO log_entries (session_id, number, version, tenant_id, user_id, turn_id, kind, open, body, created_at)
    VALUES (for_session, begun_number, begun_version, for_tenant, for_user, made.id, 'prompt', false,
      jsonb_build_object('text', prompt_text), moment);
    PERFORM pg_notify('dormouse_log', concat_ws(' ', for_session, begun_version, origin, 'state'));
  END IF;
  RETURN QUERY SELECT to_jsonb(made), (SELECT to_jsonb(o) FROM (
      SELECT t.id, t.session_id, t.kind, t.state, t.prompt, t.revision, t.started_at, t.agent_message_id,
        t.stop_requested_at IS NOT NULL AS stop_requested, s.title, s.title_from, s.agent_session_id,
        s.agent_directory, s.applied_event, s.applied_boot, s.sandbox_id, t.tries, t.next_try_at,
        s.abort_unconfirmed_at IS NOT NULL AS abort_unconfirmed,
        CASE WHEN b.lease_expires_at > now() THEN b.lease_owner END AS lease_owner,
        b.home_id, t.agent_message_id IS NOT NULL AND t.started_at < b.continued_at AS left_behind
      FROM turns t JOIN sessions s ON s.id = t.session_id LEFT JOIN sandboxes b ON b.id = s.sandbox_id
      WHERE t.session_id = for_session AND t.state IN ('running', 'queued')
      ORDER BY t.state = 'running' DESC, t.send_now_at, t.position LIMIT 1) o),
    begun_number, begun_version, moment;
END $$;
