ALTER TABLE "sessions" ADD COLUMN "abort_unconfirmed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "abort_boot" uuid;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "next_try_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "sessions_unconfirmed_abort" ON "sessions" USING btree ("sandbox_id") WHERE abort_unconfirmed_at is not null;--> statement-breakpoint

-- write_log marks sessions and lets turns wait, start_turn says so, list_unconfirmed_aborts is new: the files of db/functions now are
-- functions: 52efd837b8930b07
