-- Why a sandbox token that find_sandbox_token does not accept is none: for the words that its sandbox hears.
CREATE OR REPLACE FUNCTION sandbox_token_refusal(wanted_hash text)
RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT CASE WHEN u.disabled_at IS NOT NULL THEN 'access-disabled'
    WHEN t.revoked_at IS NULL AND t.expires_at <= now() THEN 'access-expired' ELSE 'access-ended' END
  FROM tokens t JOIN users u ON u.id = t.user_id
  WHERE t.hash = wanted_hash AND t.type = 'sandbox'
$$;
