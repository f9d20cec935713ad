-- The first caller's check stays; every later one learns whether its master key is the same.
CREATE OR REPLACE FUNCTION claim_installation(key_check text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  INSERT INTO installation (master_key_check) VALUES (key_check) ON CONFLICT DO NOTHING;
  RETURN (SELECT master_key_check = key_check FROM installation);
END $$;
