-- The sandbox is being used. False when the lease is superseded.
CREATE OR REPLACE FUNCTION touch_sandbox(for_tenant uuid, for_user uuid, wanted uuid, owner text, epoch bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM set_config('dormouse.tenant_id', for_tenant::text, true),
    set_config('dormouse.user_id', for_user::text, true), set_config('dormouse.role', 'user', true);
  UPDATE sandboxes SET last_active_at = now() WHERE id = wanted AND lease_owner = owner AND lease_epoch = epoch;
  RETURN FOUND;
END $$;
