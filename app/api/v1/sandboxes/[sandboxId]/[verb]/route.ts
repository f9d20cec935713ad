import { sandboxRoutes } from "@/app/lib/sandbox-routes.ts";
import { requireUser } from "@/server/auth/require-user.ts";

export const { request: POST } = sandboxRoutes("own", requireUser);
