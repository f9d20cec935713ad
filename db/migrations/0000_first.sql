CREATE TABLE "audit" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant_id" uuid NOT NULL,
	"user_id" uuid,
	"action" text NOT NULL,
	"subject" text,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "audit" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "installation" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"master_key_check" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "installation_only" CHECK ("installation"."only")
);
--> statement-breakpoint
ALTER TABLE "installation" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "providers" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"base_url" text NOT NULL,
	"key_encrypted" text,
	"key_ending" text,
	"models" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"last_test" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "providers" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sign_in_limits" (
	"key" text PRIMARY KEY NOT NULL,
	"failures" integer NOT NULL,
	"window_ends_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sign_in_limits" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "tokens" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"type" text NOT NULL,
	"name" text DEFAULT '' NOT NULL,
	"hash" text NOT NULL,
	"sandbox_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "tokens_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
ALTER TABLE "tokens" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "auth_sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"user_agent" text DEFAULT '' NOT NULL,
	"client_address" text DEFAULT '' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "auth_sessions" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "invites" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"created_by" uuid,
	"role" text NOT NULL,
	"note" text DEFAULT '' NOT NULL,
	"token_hash" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone,
	"used_by" uuid,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "invites_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
ALTER TABLE "invites" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "tenants" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"host_consent_at" timestamp (3) with time zone,
	"default_provider_id" uuid,
	"default_model_id" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "tenants" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"email" text NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"password_hash" text NOT NULL,
	"disabled_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "users" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "archives" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"sandbox_id" uuid NOT NULL,
	"session_id" uuid,
	"kind" text NOT NULL,
	"state" text DEFAULT 'writing' NOT NULL,
	"store_key" text NOT NULL,
	"bytes" bigint,
	"sha256" text,
	"fingerprint" text,
	"manifest" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"lease_epoch" bigint NOT NULL,
	"history_epoch" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"verified_at" timestamp (3) with time zone,
	CONSTRAINT "archives_store_key_unique" UNIQUE("store_key")
);
--> statement-breakpoint
ALTER TABLE "archives" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "operations" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"sandbox_id" uuid NOT NULL,
	"verb" text NOT NULL,
	"state" text DEFAULT 'running' NOT NULL,
	"phase" text NOT NULL,
	"cause" text,
	"requested_by" uuid,
	"lease_epoch" bigint NOT NULL,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deadline_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "operations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sandboxes" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"backend" text NOT NULL,
	"isolation" text NOT NULL,
	"private_session_id" uuid,
	"wanted_state" text DEFAULT 'terminated' NOT NULL,
	"observed_state" text DEFAULT 'terminated' NOT NULL,
	"state_cause" text,
	"lease_owner" text,
	"lease_epoch" bigint DEFAULT 0 NOT NULL,
	"lease_expires_at" timestamp (3) with time zone,
	"history_epoch" integer DEFAULT 0 NOT NULL,
	"boot_id" uuid,
	"boot_secret_encrypted" text,
	"token_encrypted" text,
	"address" jsonb,
	"applied_event" bigint DEFAULT 0 NOT NULL,
	"last_active_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sandboxes_one_per_person" UNIQUE NULLS NOT DISTINCT("user_id","backend","isolation","private_session_id")
);
--> statement-breakpoint
ALTER TABLE "sandboxes" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "asks" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"turn_id" uuid,
	"kind" text NOT NULL,
	"agent_request_id" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"body" jsonb NOT NULL,
	"answer" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"answered_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "asks" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "log_entries" (
	"session_id" uuid NOT NULL,
	"number" bigint NOT NULL,
	"version" bigint NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"turn_id" uuid,
	"kind" text NOT NULL,
	"open" boolean DEFAULT false NOT NULL,
	"body" jsonb NOT NULL,
	"verbatim" jsonb,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "log_entries_session_id_number_pk" PRIMARY KEY("session_id","number")
);
--> statement-breakpoint
ALTER TABLE "log_entries" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"sandbox_id" uuid,
	"title" text DEFAULT '' NOT NULL,
	"title_from" text DEFAULT 'default' NOT NULL,
	"isolation" text,
	"agent_session_id" text,
	"agent_directory" text,
	"last_number" bigint DEFAULT 0 NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	"memory_status" text DEFAULT 'fresh' NOT NULL,
	"memory_cause" text,
	"memory_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE TABLE "turns" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"tenant_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"position" double precision NOT NULL,
	"prompt" text NOT NULL,
	"idempotency_key" text NOT NULL,
	"host_turn_id" uuid,
	"agent_message_id" text,
	"stop_requested_at" timestamp (3) with time zone,
	"failure_code" text,
	"failure_message" text,
	"provider_id" text,
	"model_id" text,
	"cost" numeric DEFAULT 0 NOT NULL,
	"tokens_input" bigint DEFAULT 0 NOT NULL,
	"tokens_output" bigint DEFAULT 0 NOT NULL,
	"tokens_reasoning" bigint DEFAULT 0 NOT NULL,
	"tokens_cache_read" bigint DEFAULT 0 NOT NULL,
	"tokens_cache_write" bigint DEFAULT 0 NOT NULL,
	"queued_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "turns" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit" ADD CONSTRAINT "audit_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "providers" ADD CONSTRAINT "providers_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth_sessions" ADD CONSTRAINT "auth_sessions_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "auth_sessions" ADD CONSTRAINT "auth_sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invites" ADD CONSTRAINT "invites_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invites" ADD CONSTRAINT "invites_created_by_users_id_fk" FOREIGN KEY ("created_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invites" ADD CONSTRAINT "invites_used_by_users_id_fk" FOREIGN KEY ("used_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "archives" ADD CONSTRAINT "archives_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "archives" ADD CONSTRAINT "archives_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "archives" ADD CONSTRAINT "archives_sandbox_id_sandboxes_id_fk" FOREIGN KEY ("sandbox_id") REFERENCES "public"."sandboxes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operations" ADD CONSTRAINT "operations_sandbox_id_sandboxes_id_fk" FOREIGN KEY ("sandbox_id") REFERENCES "public"."sandboxes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD CONSTRAINT "sandboxes_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sandboxes" ADD CONSTRAINT "sandboxes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "asks" ADD CONSTRAINT "asks_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "asks" ADD CONSTRAINT "asks_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "asks" ADD CONSTRAINT "asks_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "asks" ADD CONSTRAINT "asks_turn_id_turns_id_fk" FOREIGN KEY ("turn_id") REFERENCES "public"."turns"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_entries" ADD CONSTRAINT "log_entries_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_entries" ADD CONSTRAINT "log_entries_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_entries" ADD CONSTRAINT "log_entries_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "log_entries" ADD CONSTRAINT "log_entries_turn_id_turns_id_fk" FOREIGN KEY ("turn_id") REFERENCES "public"."turns"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_sandbox_id_sandboxes_id_fk" FOREIGN KEY ("sandbox_id") REFERENCES "public"."sandboxes"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "turns_tenant_id_tenants_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "turns_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "turns_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_tenant" ON "audit" USING btree ("tenant_id","at");--> statement-breakpoint
CREATE INDEX "providers_tenant" ON "providers" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "auth_sessions_user" ON "auth_sessions" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "users_tenant" ON "users" USING btree ("tenant_id");--> statement-breakpoint
CREATE INDEX "archives_sandbox" ON "archives" USING btree ("sandbox_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "archives_session" ON "archives" USING btree ("session_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "operations_one_running" ON "operations" USING btree ("sandbox_id") WHERE state = 'running';--> statement-breakpoint
CREATE INDEX "operations_sandbox" ON "operations" USING btree ("sandbox_id","started_at");--> statement-breakpoint
CREATE INDEX "sandboxes_tenant" ON "sandboxes" USING btree ("tenant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "asks_agent_request" ON "asks" USING btree ("session_id","agent_request_id");--> statement-breakpoint
CREATE UNIQUE INDEX "log_entries_version" ON "log_entries" USING btree ("session_id","version");--> statement-breakpoint
CREATE INDEX "sessions_person" ON "sessions" USING btree ("user_id","updated_at");--> statement-breakpoint
CREATE UNIQUE INDEX "turns_idempotency" ON "turns" USING btree ("session_id","idempotency_key");--> statement-breakpoint
CREATE UNIQUE INDEX "turns_one_running" ON "turns" USING btree ("session_id") WHERE state = 'running';--> statement-breakpoint
CREATE INDEX "turns_queue" ON "turns" USING btree ("session_id","position") WHERE state = 'queued';--> statement-breakpoint
CREATE POLICY "admin_reads" ON "audit" AS PERMISSIVE FOR SELECT TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin'));--> statement-breakpoint
CREATE POLICY "tenant_appends" ON "audit" AS PERMISSIVE FOR INSERT TO public WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "tenant_reads" ON "providers" AS PERMISSIVE FOR SELECT TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "admin_rows" ON "providers" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin')) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin'));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "tokens" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "own_rows_or_admin" ON "auth_sessions" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin'))) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin')));--> statement-breakpoint
CREATE POLICY "admin_rows" ON "invites" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin')) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin'));--> statement-breakpoint
CREATE POLICY "tenant_reads" ON "tenants" AS PERMISSIVE FOR SELECT TO public USING (id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "admin_writes" ON "tenants" AS PERMISSIVE FOR UPDATE TO public USING (id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin')) WITH CHECK (id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (select current_setting('dormouse.role', true) = 'admin'));--> statement-breakpoint
CREATE POLICY "self_or_admin_reads" ON "users" AS PERMISSIVE FOR SELECT TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin')));--> statement-breakpoint
CREATE POLICY "self_or_admin_writes" ON "users" AS PERMISSIVE FOR UPDATE TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin'))) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "own_rows_or_admin" ON "archives" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin'))) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin')));--> statement-breakpoint
CREATE POLICY "own_rows_or_admin" ON "operations" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin'))) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin')));--> statement-breakpoint
CREATE POLICY "own_rows_or_admin" ON "sandboxes" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin'))) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and (user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid) or (select current_setting('dormouse.role', true) = 'admin')));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "asks" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "log_entries" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "sessions" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));--> statement-breakpoint
CREATE POLICY "own_rows_only" ON "turns" AS PERMISSIVE FOR ALL TO public USING (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid)) WITH CHECK (tenant_id = (select nullif(current_setting('dormouse.tenant_id', true), '')::uuid) and user_id = (select nullif(current_setting('dormouse.user_id', true), '')::uuid));