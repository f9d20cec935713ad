ALTER TABLE "turns" ADD COLUMN "request_hash" text;
--> statement-breakpoint
-- By hand: start_turn bounds the queue and keeps the hash of what was asked; sandbox_token_refusal is new.
-- functions: 7b5d50369780297f
