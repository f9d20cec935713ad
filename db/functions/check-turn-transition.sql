-- Every change of a turn's state: the table of server/protocol/turn-states.ts, which a test compares with this one.
-- Raises DM002, as write_log does, since the turn is not in the state that the change begins from.
CREATE OR REPLACE FUNCTION check_turn_transition() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF (OLD.state, NEW.state) IN (
    ('queued', 'running'), ('queued', 'joined'),
    ('running', 'finished'), ('running', 'stopped'), ('running', 'failed'),
    ('joined', 'queued'), ('joined', 'finished'), ('joined', 'stopped'), ('joined', 'failed')) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a turn that is % cannot become %', OLD.state, NEW.state USING ERRCODE = 'DM002';
END $$;
