-- Null when somebody was faster: the lock makes "first" mean first, also under a race.
CREATE OR REPLACE FUNCTION complete_first_run(tenant_name text, person_name text, person_email text, hash text, host_consent boolean)
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
