-- The check on each request. Whoever holds the id of a live auth session is that person.
CREATE OR REPLACE FUNCTION find_viewer(auth_session uuid)
RETURNS TABLE (user_id uuid, tenant_id uuid, role text, email text, name text, tenant_name text, seen_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT u.id, u.tenant_id, u.role, u.email, u.name, t.name, s.last_seen_at
  FROM auth_sessions s JOIN users u ON u.id = s.user_id JOIN tenants t ON t.id = u.tenant_id
  WHERE s.id = auth_session AND s.revoked_at IS NULL AND s.expires_at > now() AND u.disabled_at IS NULL
$$;
