ALTER TABLE "sandboxes" ADD COLUMN "agent_config_hash" text;--> statement-breakpoint
ALTER TABLE "log_entries" ADD COLUMN "key" text;--> statement-breakpoint
ALTER TABLE "log_entries" ADD COLUMN "under" bigint;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "applied_event" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "applied_boot" uuid;--> statement-breakpoint
CREATE INDEX "log_entries_turn" ON "log_entries" USING btree ("turn_id");