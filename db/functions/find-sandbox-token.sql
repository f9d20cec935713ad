-- Who calls the gateway: the token is all that a sandbox shows. The caller's rows are then read as that person.
CREATE OR REPLACE FUNCTION find_sandbox_token(wanted_hash text)
RETURNS TABLE (token_id uuid, tenant_id uuid, user_id uuid, sandbox_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT t.id, t.tenant_id, t.user_id, t.sandbox_id
  FROM tokens t JOIN users u ON u.id = t.user_id
  WHERE t.hash = wanted_hash AND t.type = 'sandbox' AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.disabled_at IS NULL
$$;
