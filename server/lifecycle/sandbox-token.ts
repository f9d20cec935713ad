import { createHash, randomBytes } from "node:crypto";
import { and, eq, isNull, sql } from "drizzle-orm";
import { tokens } from "../../db/schema/index.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Lease, Leases, SandboxRecord } from "./lease.ts";

const lifetimeDays = 30;
const renewBelowDays = 7;

/**
 * The token by which the gateway knows the sandbox. Kept encrypted on the row through sleep and recovery;
 * checked at each provisioning, and replaced when it is revoked, unreadable or about to expire.
 */
export async function requireSandboxToken(
  { leases, secretBox }: { leases: Leases; secretBox: SecretBox },
  lease: Lease,
  row: SandboxRecord,
): Promise<string> {
  const kept = row.tokenEncrypted ? open(secretBox, row.tokenEncrypted, row.id) : null;
  if (kept && (await isGood(leases, lease, kept))) return kept;
  const token = `dormouse_sandbox_${randomBytes(32).toString("base64url")}`;
  await leases.write(lease, async (tx) => {
    await tx
      .update(tokens)
      .set({ revokedAt: new Date() })
      .where(and(eq(tokens.sandboxId, row.id), eq(tokens.type, "sandbox"), isNull(tokens.revokedAt)));
    await tx.insert(tokens).values({
      tenantId: row.tenantId,
      userId: row.userId,
      type: "sandbox",
      hash: hashToken(token),
      sandboxId: row.id,
      expiresAt: sql`now() + make_interval(days => ${lifetimeDays})`,
    });
  });
  await leases.update(lease, { tokenEncrypted: secretBox.seal(token, contextOf(row.id)) });
  return token;
}

/** SHA-256 in hex: all that is kept of a token. */
export function hashToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

async function isGood(leases: Leases, lease: Lease, token: string): Promise<boolean> {
  const found = await leases.write(lease, (tx) =>
    tx
      .select({ id: tokens.id })
      .from(tokens)
      .where(
        and(
          eq(tokens.hash, hashToken(token)),
          eq(tokens.sandboxId, lease.sandboxId),
          isNull(tokens.revokedAt),
          sql`${tokens.expiresAt} > now() + make_interval(days => ${renewBelowDays})`,
        ),
      ),
  );
  return found.length > 0;
}

function open(secretBox: SecretBox, sealed: string, sandboxId: string): string | null {
  try {
    return secretBox.open(sealed, contextOf(sandboxId));
  } catch {
    return null;
  }
}

function contextOf(sandboxId: string): string {
  return `sandbox-token:${sandboxId}`;
}
