-- Models changed: the sandboxes of the admin's tenant whose agents have to hear of it.
CREATE OR REPLACE FUNCTION list_tenant_sandboxes(wanted_tenant uuid) RETURNS TABLE (sandbox_id uuid, user_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT id, sandboxes.user_id FROM sandboxes
  WHERE sandboxes.tenant_id = wanted_tenant AND observed_state = 'running'
$$;
