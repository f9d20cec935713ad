import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { hashPassword } from "../lib/password-hash.ts";

/**
 * The way back in for whoever can reach the machine: sets a new random password, ends that
 * person's sign-ins, enables them again and lifts the limit on attempts. Null when the email is
 * not known. Runs as the owner: nobody is signed in here.
 */
export async function resetPassword({ ownerUrl, email }: { ownerUrl: string; email: string }): Promise<string | null> {
  const owner = postgres(ownerUrl, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    const password = randomBytes(15).toString("base64url");
    const hash = await hashPassword(password);
    return await owner.begin(async (tx) => {
      const [person] = await tx<{ id: string; tenantId: string; email: string }[]>`
        update users set password_hash = ${hash}, disabled_at = null, updated_at = now()
        where lower(email) = lower(${email}) returning id, tenant_id as "tenantId", email`;
      if (!person) return null;
      await tx`update auth_sessions set revoked_at = now() where user_id = ${person.id} and revoked_at is null`;
      await tx`delete from sign_in_limits where key = ${`account:${person.email.toLowerCase()}`}`;
      await tx`insert into audit (tenant_id, user_id, action, subject)
        values (${person.tenantId}, ${person.id}, 'password-reset-by-command', ${person.id})`;
      return password;
    });
  } finally {
    await owner.end({ timeout: 5 });
  }
}
