import { z } from "zod";

/** For where an id is a part of something longer. */
export const uuidPattern = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}";

// Ids are branded so that a session's id cannot be passed where a sandbox's is meant.
const id = <Brand extends string>() => z.uuid().brand<Brand>();

export const tenantId = id<"tenant">();
export const userId = id<"user">();
export const sandboxId = id<"sandbox">();
export const sessionId = id<"session">();
export const turnId = id<"turn">();
export const providerId = id<"provider">();
export const authSessionId = id<"auth-session">();
export const inviteId = id<"invite">();

export type TenantId = z.infer<typeof tenantId>;
export type UserId = z.infer<typeof userId>;
export type SandboxId = z.infer<typeof sandboxId>;
export type SessionId = z.infer<typeof sessionId>;
export type TurnId = z.infer<typeof turnId>;
export type ProviderId = z.infer<typeof providerId>;
export type AuthSessionId = z.infer<typeof authSessionId>;
export type InviteId = z.infer<typeof inviteId>;
