-- What an agent's configuration is made of, in one round trip, as the person named: row-level security judges.
CREATE OR REPLACE FUNCTION read_tenant_models(for_tenant uuid, for_user uuid)
RETURNS TABLE (providers jsonb, default_provider_id uuid, default_model_id text, permission_policy text)
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM set_config('dormouse.tenant_id', for_tenant::text, true),
    set_config('dormouse.user_id', for_user::text, true), set_config('dormouse.role', 'user', true);
  RETURN QUERY SELECT
    coalesce((SELECT jsonb_agg(jsonb_build_object('id', p.id, 'kind', p.kind, 'name', p.name, 'models', p.models)
      ORDER BY p.created_at, p.id) FROM providers p), '[]'),
    t.default_provider_id, t.default_model_id, t.permission_policy FROM tenants t;
END $$;
