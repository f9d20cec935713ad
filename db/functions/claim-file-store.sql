-- From now on file_store_claimed() is true.
CREATE OR REPLACE FUNCTION claim_file_store() RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE installation SET file_store_claimed_at = now() WHERE file_store_claimed_at IS NULL;
$$;
