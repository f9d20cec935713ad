import { sandboxRoutes } from "@/app/lib/sandbox-routes.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";

export const { configure: PATCH } = sandboxRoutes("tenant", requireAdmin);
