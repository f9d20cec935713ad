-- One batch of a session log in one round trip. Not a definer function: row-level security judges
-- every statement, as the person named. The session's row is locked first, so that versions become
-- visible in order and a superseded writer, which looks at the lease afterwards, cannot slip behind
-- a takeover. A turn begins only with the prompt that was read (`revision`); the end of a turn is also
-- the end of those that joined it and of what it still asked, and may take turns back or bring them
-- back. `untold`: the agent may still be at work on it, which is marked on the session while its sandbox
-- runs. A turn that could not be handed to the agent waits, and stays running. Raises DM001 when the lease was superseded, DM002 when the turn is not in the state that its
-- change begins from, DM003 when there is no such session.
--
-- changes: [{make: 1.., kind, key, turn, under | underMade, continuesMade, open, body, verbatim, at}
--          | {number, open, body, verbatim}], where `make` counts the batch's new entries and
--          `…Made` names one of them.
-- turn_change: {begin: id, revision?}
--          | {wait: id, nextTryAt}
--          | {end: id, state, code, message, cost, tokens…, providerId, modelId, untold, undone?: [id] | redone?: [id]},
--            where a null cost says that the price was not known
CREATE OR REPLACE FUNCTION write_log(
  for_tenant uuid, for_user uuid, for_session uuid, held_sandbox uuid, held_epoch bigint,
  changes text, event bigint, boot uuid, new_title text, turn_change text, origin text)
RETURNS TABLE (first_number bigint, last_version bigint)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
DECLARE
  list jsonb := changes::jsonb;
  turn jsonb := turn_change::jsonb;
  total integer := jsonb_array_length(list);
  made integer := (SELECT count(*) FROM jsonb_array_elements(list) c WHERE c ? 'make');
  before_number bigint;
  before_version bigint;
BEGIN
  PERFORM set_config('dormouse.tenant_id', for_tenant::text, true),
    set_config('dormouse.user_id', for_user::text, true), set_config('dormouse.role', 'user', true);
  UPDATE sessions SET last_number = last_number + made, version = version + total,
    applied_event = coalesce(event, applied_event), applied_boot = coalesce(boot, applied_boot),
    title = CASE WHEN new_title IS NOT NULL AND title_from <> 'person' THEN new_title ELSE title END,
    title_from = CASE WHEN new_title IS NOT NULL AND title_from <> 'person' THEN 'agent' ELSE title_from END,
    updated_at = CASE WHEN turn IS NULL THEN updated_at ELSE now() END
  WHERE id = for_session
  RETURNING last_number - made, version - total INTO before_number, before_version;
  IF NOT FOUND THEN RAISE EXCEPTION 'no such session' USING ERRCODE = 'DM003'; END IF;
  IF held_sandbox IS NOT NULL
    AND NOT EXISTS (SELECT FROM sandboxes WHERE id = held_sandbox AND lease_epoch = held_epoch) THEN
    RAISE EXCEPTION 'lease superseded' USING ERRCODE = 'DM001';
  END IF;

  IF turn ? 'begin' THEN
    UPDATE turns SET state = 'running', started_at = now()
    WHERE id = (turn->>'begin')::uuid AND session_id = for_session AND state = 'queued'
      AND revision = coalesce((turn->>'revision')::integer, revision);
    IF NOT FOUND THEN RAISE EXCEPTION 'turn is not queued' USING ERRCODE = 'DM002'; END IF;
  ELSIF turn ? 'wait' THEN
    UPDATE turns SET next_try_at = (turn->>'nextTryAt')::timestamptz,
      tries = tries + 1
    WHERE id = (turn->>'wait')::uuid AND session_id = for_session AND state = 'running';
    IF NOT FOUND THEN RAISE EXCEPTION 'turn is not running' USING ERRCODE = 'DM002'; END IF;
  ELSIF turn ? 'end' THEN
    UPDATE turns SET state = turn->>'state', ended_at = now(),
      failure_code = turn->>'code', failure_message = turn->>'message',
      cost = CASE WHEN turn ? 'cost' THEN (turn->>'cost')::numeric ELSE cost END,
      tokens_input = coalesce((turn->>'input')::bigint, tokens_input),
      tokens_output = coalesce((turn->>'output')::bigint, tokens_output),
      tokens_reasoning = coalesce((turn->>'reasoning')::bigint, tokens_reasoning),
      tokens_cache_read = coalesce((turn->>'cacheRead')::bigint, tokens_cache_read),
      tokens_cache_write = coalesce((turn->>'cacheWrite')::bigint, tokens_cache_write),
      provider_id = coalesce(turn->>'providerId', provider_id), model_id = coalesce(turn->>'modelId', model_id)
    WHERE id = (turn->>'end')::uuid AND session_id = for_session AND state = 'running';
    IF NOT FOUND THEN RAISE EXCEPTION 'turn is not running' USING ERRCODE = 'DM002'; END IF;
    UPDATE turns SET state = turn->>'state', ended_at = now(),
      failure_code = turn->>'code', failure_message = turn->>'message'
    WHERE host_turn_id = (turn->>'end')::uuid AND session_id = for_session AND state = 'joined';
    UPDATE asks SET state = 'withdrawn'
    WHERE turn_id = (turn->>'end')::uuid AND session_id = for_session AND state = 'pending';
    UPDATE turns SET undone_at = CASE WHEN turn ? 'undone' THEN now() END
    WHERE session_id = for_session AND id::text IN
      (SELECT jsonb_array_elements_text(coalesce(turn->'undone', turn->'redone', '[]')));
    UPDATE sessions s SET abort_unconfirmed_at = now(), abort_boot = b.boot_id FROM sandboxes b
    WHERE s.id = for_session AND (turn->>'untold')::boolean
      AND b.id = s.sandbox_id AND b.observed_state IN ('provisioning', 'running');
  END IF;

  IF made > 0 THEN
    INSERT INTO log_entries (session_id, number, version, tenant_id, user_id, turn_id, kind, key, under, open, body,
      verbatim, created_at)
    SELECT for_session, before_number + (c->>'make')::bigint, before_version + nth, for_tenant, for_user,
      (c->>'turn')::uuid, c->>'kind', c->>'key',
      coalesce((c->>'under')::bigint, before_number + (c->>'underMade')::bigint), (c->>'open')::boolean,
      CASE WHEN c ? 'continuesMade'
        THEN (c->'body') || jsonb_build_object('continues', before_number + (c->>'continuesMade')::bigint)
        ELSE c->'body' END,
      nullif(c->'verbatim', 'null'), (c->>'at')::timestamptz
    FROM jsonb_array_elements(list) WITH ORDINALITY AS t(c, nth) WHERE c ? 'make';
  END IF;
  IF total > made THEN
    UPDATE log_entries e SET version = before_version + nth, open = (c->>'open')::boolean, body = c->'body',
      verbatim = coalesce(nullif(c->'verbatim', 'null'), e.verbatim), updated_at = now()
    FROM jsonb_array_elements(list) WITH ORDINALITY AS t(c, nth)
    WHERE c ? 'number' AND e.session_id = for_session AND e.number = (c->>'number')::bigint;
  END IF;
  PERFORM pg_notify('dormouse_log', concat_ws(' ', for_session, before_version + total, origin,
    CASE WHEN turn IS NOT NULL OR new_title IS NOT NULL THEN 'state' END));
  RETURN QUERY SELECT before_number, before_version + total;
END $$;
