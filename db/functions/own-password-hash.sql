-- The hash of the person the transaction runs as, and of nobody else: the application role cannot read the column.
CREATE OR REPLACE FUNCTION own_password_hash() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT password_hash FROM users WHERE id = nullif(current_setting('dormouse.user_id', true), '')::uuid
$$;
