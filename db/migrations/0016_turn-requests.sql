ALTER TABLE "turns" ADD COLUMN "request_hash" text;
--> statement-breakpoint
-- By hand: start_turn bounds the queue and keeps the hash of what was asked.
-- functions: 237e6e493ffffc7f
