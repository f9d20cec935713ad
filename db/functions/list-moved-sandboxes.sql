-- Which of the sandboxes whose files a home holds belong to another home by now.
CREATE OR REPLACE FUNCTION list_moved_sandboxes(home text, held uuid[]) RETURNS TABLE (sandbox_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT s.id FROM sandboxes s WHERE s.id = ANY (held) AND s.home_id <> home AND s.home_id <> 'unknown'
$$;
