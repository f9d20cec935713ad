import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { permissionPolicies } from "@/server/models/index.ts";
import { services } from "@/server/services.ts";

const body = z.object({ policy: z.enum(permissionPolicies) });

/** What agents may do by themselves inside their sandbox. */
export const PUT = route(async (request) => {
  const viewer = await requireAdmin();
  const { policy } = await readJson(request, body);
  await services().models.choosePermissions(viewer, policy);
  return Response.json({ policy });
});
