CREATE TABLE "removed_workspaces" (
	"session_id" uuid PRIMARY KEY NOT NULL,
	"sandbox_id" uuid NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "removed_workspaces" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
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
ALTER TABLE "removed_workspaces" ADD CONSTRAINT "removed_workspaces_sandbox_id_sandboxes_id_fk" FOREIGN KEY ("sandbox_id") REFERENCES "public"."sandboxes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_workspaces" ADD CONSTRAINT "removed_workspaces_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "removed_workspaces" ADD CONSTRAINT "removed_workspaces_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "removed_workspaces_sandbox" ON "removed_workspaces" USING btree ("sandbox_id");--> statement-breakpoint
CREATE UNIQUE INDEX "operations_one_open" ON "operations" USING btree ("sandbox_id") WHERE state in ('requested', 'running');--> statement-breakpoint
CREATE INDEX "operations_open" ON "operations" USING btree ("requested_at") WHERE state in ('requested', 'running');--> statement-breakpoint
CREATE INDEX "sandboxes_idle" ON "sandboxes" USING btree ("last_active_at") WHERE observed_state = 'running';--> statement-breakpoint
CREATE INDEX "operations_sandbox" ON "operations" USING btree ("sandbox_id","requested_at");--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_verb_phase" CHECK (("verb", "phase") in (('wake', 'starting-sandbox'), ('wake', 'restoring'), ('wake', 'starting-agent'), ('wake', 'running'), ('sleep', 'quiescing'), ('sleep', 'archiving'), ('sleep', 'terminating'), ('sleep', 'sleeping'), ('recover', 'archiving'), ('recover', 'terminating'), ('recover', 'starting-sandbox'), ('recover', 'restoring'), ('recover', 'starting-agent'), ('recover', 'running'), ('reset', 'forgetting'), ('reset', 'archiving'), ('reset', 'deleting'), ('reset', 'terminating'), ('reset', 'terminated'), ('restart-agent', 'restarting-agent'), ('restart-agent', 'running')));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "removed_workspaces" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint

-- A turn sees a sleep that is decided, and is seen by it; what is asked of sandboxes, their idle limit, and which objects
-- of the file store are known are new.
-- functions: b3b6fdaaa926edef
