-- Asked for each model call, hence in one round trip, as the person named: row-level security judges.
CREATE OR REPLACE FUNCTION find_provider(for_tenant uuid, for_user uuid, wanted uuid)
RETURNS TABLE (id uuid, kind text, name text, base_url text, key_encrypted text)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM set_config('dormouse.tenant_id', for_tenant::text, true),
    set_config('dormouse.user_id', for_user::text, true), set_config('dormouse.role', 'user', true);
  RETURN QUERY SELECT p.id, p.kind, p.name, p.base_url, p.key_encrypted FROM providers p WHERE p.id = wanted;
END $$;
