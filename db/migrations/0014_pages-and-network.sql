ALTER TABLE "tenants" ADD COLUMN "egress_rule" text DEFAULT 'public' NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "egress_hosts" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX "log_entries_under" ON "log_entries" USING btree ("session_id","under","number");