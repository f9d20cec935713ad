ALTER TABLE "turns" ALTER COLUMN "cost" DROP NOT NULL;--> statement-breakpoint

-- write_log takes a null cost and read_tenant_models gives addresses: the files of db/functions now are
-- functions: addf6d1f8173bb69

-- Until now no model had a price and every turn cost 0: that is true of the demo model only.
UPDATE turns SET cost = NULL WHERE provider_id <> 'demo' AND cost = 0;
--> statement-breakpoint
UPDATE log_entries SET body = jsonb_set(body, '{cost}', 'null')
WHERE kind = 'usage' AND body->>'providerId' IS DISTINCT FROM 'demo' AND body->'cost' = '0';
