-- Asked before anybody is signed in: who has this email, and what their password is checked against.
CREATE OR REPLACE FUNCTION sign_in_candidate(wanted_email text)
RETURNS TABLE (user_id uuid, tenant_id uuid, role text, password_hash text, disabled boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, users.tenant_id, users.role, users.password_hash, disabled_at IS NOT NULL
  FROM users WHERE lower(email) = lower(wanted_email)
$$;
