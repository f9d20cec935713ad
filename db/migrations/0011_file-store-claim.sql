ALTER TABLE "installation" ADD COLUMN "file_store_claimed_at" timestamp with time zone;
--> statement-breakpoint

-- Whether a file store was marked as this installation's: from then on one without the mark is another one.
CREATE FUNCTION file_store_claimed() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT EXISTS (SELECT FROM installation WHERE file_store_claimed_at IS NOT NULL);
$$;
--> statement-breakpoint

CREATE FUNCTION claim_file_store() RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE installation SET file_store_claimed_at = now() WHERE file_store_claimed_at IS NULL;
$$;
