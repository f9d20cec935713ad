-- What must work before anybody is signed in, or across what row-level security lets one person
-- see, goes through these functions. They run as the owner, so each states its own limit.

CREATE FUNCTION first_run_pending() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT NOT EXISTS (SELECT FROM tenants)
$$;
--> statement-breakpoint

-- Null when somebody was faster: the lock makes "first" mean first, also under a race.
CREATE FUNCTION complete_first_run(tenant_name text, person_name text, person_email text, hash text, host_consent boolean)
RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE tenant uuid; person uuid;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('dormouse.first-run', 0));
  IF EXISTS (SELECT FROM tenants) THEN RETURN NULL; END IF;
  INSERT INTO tenants (name, host_consent_at) VALUES (tenant_name, CASE WHEN host_consent THEN now() END)
    RETURNING id INTO tenant;
  INSERT INTO users (tenant_id, email, name, role, password_hash)
    VALUES (tenant, person_email, person_name, 'admin', hash) RETURNING id INTO person;
  INSERT INTO audit (tenant_id, user_id, action, subject, detail)
    VALUES (tenant, person, 'first-run-complete', person::text, jsonb_build_object('hostConsent', host_consent));
  RETURN person;
END $$;
--> statement-breakpoint

CREATE FUNCTION sign_in_candidate(wanted_email text)
RETURNS TABLE (user_id uuid, tenant_id uuid, role text, password_hash text, disabled boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, users.tenant_id, users.role, users.password_hash, disabled_at IS NOT NULL
  FROM users WHERE lower(email) = lower(wanted_email)
$$;
--> statement-breakpoint

-- Counts the attempt before it is tried, so that a thousand at once do not slip through together.
-- Returns the seconds to wait, 0 when the attempt may go on.
CREATE FUNCTION count_attempt(wanted_key text, allowed integer, window_seconds integer) RETURNS integer
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
--> statement-breakpoint

CREATE FUNCTION forget_attempts(wanted_key text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DELETE FROM sign_in_limits WHERE key = wanted_key
$$;
--> statement-breakpoint

-- The check on each request. Whoever holds the id of a live auth session is that person.
CREATE FUNCTION find_viewer(auth_session uuid)
RETURNS TABLE (user_id uuid, tenant_id uuid, role text, email text, name text, tenant_name text, seen_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT u.id, u.tenant_id, u.role, u.email, u.name, t.name, s.last_seen_at
  FROM auth_sessions s JOIN users u ON u.id = s.user_id JOIN tenants t ON t.id = u.tenant_id
  WHERE s.id = auth_session AND s.revoked_at IS NULL AND s.expires_at > now() AND u.disabled_at IS NULL
$$;
--> statement-breakpoint

CREATE FUNCTION find_invite(wanted_hash text) RETURNS TABLE (tenant_name text, role text, state text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT t.name, i.role, CASE
    WHEN i.used_at IS NOT NULL THEN 'used' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
    WHEN i.expires_at <= now() THEN 'expired' ELSE 'open' END
  FROM invites i JOIN tenants t ON t.id = i.tenant_id WHERE i.token_hash = wanted_hash
$$;
--> statement-breakpoint

-- Null when the invite is not open any more: the row lock decides between two who use it at once.
-- A taken email raises unique_violation.
CREATE FUNCTION accept_invite(wanted_hash text, person_name text, person_email text, hash text) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE invite invites; person uuid;
BEGIN
  SELECT * INTO invite FROM invites WHERE token_hash = wanted_hash
    AND used_at IS NULL AND revoked_at IS NULL AND expires_at > now() FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO users (tenant_id, email, name, role, password_hash)
    VALUES (invite.tenant_id, person_email, person_name, invite.role, hash) RETURNING id INTO person;
  UPDATE invites SET used_at = now(), used_by = person WHERE id = invite.id;
  INSERT INTO audit (tenant_id, user_id, action, subject) VALUES (invite.tenant_id, person, 'invite-accept', invite.id::text);
  RETURN person;
END $$;
--> statement-breakpoint

CREATE FUNCTION own_password_hash() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT password_hash FROM users WHERE id = nullif(current_setting('dormouse.user_id', true), '')::uuid
$$;
--> statement-breakpoint

CREATE FUNCTION set_own_password_hash(hash text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE users SET password_hash = hash, updated_at = now()
  WHERE id = nullif(current_setting('dormouse.user_id', true), '')::uuid
$$;
--> statement-breakpoint

-- How many sessions each sandbox of the admin's tenant holds: the number, never what is in them.
CREATE FUNCTION count_sessions() RETURNS TABLE (sandbox_id uuid, sessions integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.sandbox_id, count(*)::integer FROM sessions s
  WHERE s.tenant_id = nullif(current_setting('dormouse.tenant_id', true), '')::uuid
    AND current_setting('dormouse.role', true) = 'admin' AND s.sandbox_id IS NOT NULL
  GROUP BY s.sandbox_id
$$;
--> statement-breakpoint

-- Housekeeping over all tenants; nothing that anybody still sees goes.
CREATE FUNCTION sweep_expired() RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE removed integer;
BEGIN
  DELETE FROM sign_in_limits WHERE window_ends_at < now() - interval '1 hour';
  DELETE FROM auth_sessions WHERE expires_at < now() - interval '7 days' OR revoked_at < now() - interval '7 days';
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;
--> statement-breakpoint

-- The first caller's check stays; every later one learns whether its master key is the same.
CREATE FUNCTION claim_installation(key_check text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO installation (master_key_check) VALUES (key_check) ON CONFLICT DO NOTHING;
  RETURN (SELECT master_key_check = key_check FROM installation);
END $$;
