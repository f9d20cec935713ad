import { sandboxRoutes } from "@/app/lib/sandbox-routes.ts";
import { requireUser } from "@/server/auth/require-user.ts";

export const { list: GET } = sandboxRoutes("own", requireUser);
