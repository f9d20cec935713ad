-- The same for writing: one's own, and nobody else's.
CREATE OR REPLACE FUNCTION set_own_password_hash(hash text) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE users SET password_hash = hash, updated_at = now()
  WHERE id = nullif(current_setting('dormouse.user_id', true), '')::uuid
$$;
