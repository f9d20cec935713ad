ALTER TABLE "operations" DROP CONSTRAINT "operations_verb_phase";--> statement-breakpoint
DROP INDEX "operations_one_running";--> statement-breakpoint
DROP INDEX "operations_sandbox";--> statement-breakpoint
ALTER TABLE "operations" ALTER COLUMN "started_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "tenants" ADD COLUMN "idle_minutes" integer DEFAULT 60 NOT NULL;--> statement-breakpoint
ALTER TABLE "operations" ADD COLUMN "reason" text DEFAULT 'needed' NOT NULL;--> statement-breakpoint
ALTER TABLE "operations" ADD COLUMN "options" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "operations" ADD COLUMN "phases" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "operations" ADD COLUMN "requested_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "files_epoch" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "unsaved_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "idle_minutes" integer;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "keep_awake_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD COLUMN "no_sleep_before" timestamp (3) with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "operations_one_open" ON "operations" USING btree ("sandbox_id") WHERE state in ('requested', 'running');--> statement-breakpoint
CREATE INDEX "operations_requested" ON "operations" USING btree ("requested_at") WHERE state = 'requested';--> statement-breakpoint
CREATE INDEX "sandboxes_idle" ON "sandboxes" USING btree ("last_active_at") WHERE observed_state = 'running';--> statement-breakpoint
CREATE INDEX "operations_sandbox" ON "operations" USING btree ("sandbox_id","requested_at");--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_verb_phase" CHECK (("verb", "phase") in (('wake', 'starting-sandbox'), ('wake', 'restoring'), ('wake', 'starting-agent'), ('wake', 'running'), ('sleep', 'quiescing'), ('sleep', 'archiving'), ('sleep', 'terminating'), ('sleep', 'sleeping'), ('recover', 'archiving'), ('recover', 'terminating'), ('recover', 'starting-sandbox'), ('recover', 'restoring'), ('recover', 'starting-agent'), ('recover', 'running'), ('reset', 'forgetting'), ('reset', 'archiving'), ('reset', 'deleting'), ('reset', 'terminating'), ('reset', 'terminated'), ('restart-agent', 'restarting-agent'), ('restart-agent', 'running')));