-- Whether a file store was marked as this installation's: from then on one without the mark is another one.
CREATE OR REPLACE FUNCTION file_store_claimed() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT EXISTS (SELECT FROM installation WHERE file_store_claimed_at IS NOT NULL);
$$;
