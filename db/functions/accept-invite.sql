-- Null when the invite is not open any more: the row lock decides between two who use it at once.
-- A taken email raises unique_violation.
CREATE OR REPLACE FUNCTION accept_invite(wanted_hash text, person_name text, person_email text, hash text) RETURNS uuid
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
