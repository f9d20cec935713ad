import type { TenantId, UserId } from "../protocol/ids.ts";
import type { Role } from "../protocol/roles.ts";

/** In whose name a transaction runs. Row-level security sees exactly these three. */
export interface Actor {
  tenantId: TenantId;
  userId: UserId;
  role: Role;
}

/** A signed-in person, as pages need them. */
export interface Viewer extends Actor {
  email: string;
  name: string;
  tenantName: string;
  authSessionId: string;
}
