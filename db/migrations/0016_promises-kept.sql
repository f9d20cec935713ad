CREATE TABLE "homes" (
	"id" text PRIMARY KEY NOT NULL,
	"machine" text NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "homes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "sandboxes" DROP CONSTRAINT "sandboxes_one_per_person";--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "home_id" text;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "continued_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "abort_unconfirmed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "abort_boot" uuid;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "request_hash" text;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "next_try_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "sessions_unconfirmed_abort" ON "sessions" USING btree ("sandbox_id") WHERE abort_unconfirmed_at is not null;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD CONSTRAINT "sandboxes_one_per_home" UNIQUE NULLS NOT DISTINCT("user_id","backend","isolation","private_session_id","home_id","continued_at");--> statement-breakpoint

-- By hand: local sandboxes that exist belong to the home whose server holds or held their lease; the others are claimed
-- by the first home that has their files (claim_sandboxes).
UPDATE sandboxes SET home_id = coalesce(CASE WHEN lease_owner LIKE '%/%' THEN split_part(lease_owner, '/', 1) END, 'unknown')
WHERE backend = 'local';
--> statement-breakpoint

-- start_turn bounds the queue, keeps the hash of what was asked and says more of the turn; write_log marks sessions and
-- lets turns wait; functions of homes, of unconfirmed aborts and of refused tokens are new.
-- functions: 933b2d094b644da8
