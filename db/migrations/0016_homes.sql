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
ALTER TABLE "sandboxes" ADD CONSTRAINT "sandboxes_one_per_home" UNIQUE NULLS NOT DISTINCT("user_id","backend","isolation","private_session_id","home_id","continued_at");--> statement-breakpoint

-- By hand: local sandboxes that exist belong to the home whose server holds or held their lease; the others are claimed
-- by the first home that has their files (claim_sandboxes).
UPDATE sandboxes SET home_id = coalesce(CASE WHEN lease_owner LIKE '%/%' THEN split_part(lease_owner, '/', 1) END, 'unknown')
WHERE backend = 'local';
--> statement-breakpoint

-- functions: 03989463514bc7e9
