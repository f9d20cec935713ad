import { sandboxRoutes } from "@/app/lib/sandbox-routes.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";

export const { request: POST } = sandboxRoutes("tenant", requireAdmin);
