-- Whoever holds the token of an invite may see what it invites to.
CREATE OR REPLACE FUNCTION find_invite(wanted_hash text) RETURNS TABLE (tenant_name text, role text, state text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT t.name, i.role, CASE
    WHEN i.used_at IS NOT NULL THEN 'used' WHEN i.revoked_at IS NOT NULL THEN 'revoked'
    WHEN i.expires_at <= now() THEN 'expired' ELSE 'open' END
  FROM invites i JOIN tenants t ON t.id = i.tenant_id WHERE i.token_hash = wanted_hash
$$;
