import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireAdmin } from "@/server/auth/require-user.ts";
import { roles } from "@/server/protocol/roles.ts";
import { services } from "@/server/services.ts";

const body = z.object({ role: z.enum(roles, "The role must be admin or user."), note: z.string().default("") });

export const GET = route(async () => {
  const viewer = await requireAdmin();
  return Response.json({ invites: await services().accounts.listInvites(viewer) });
});

/** The address is shown this once. */
export const POST = route(async (request) => {
  const viewer = await requireAdmin();
  const created = await services().accounts.createInvite(viewer, await readJson(request, body));
  return Response.json(created, { status: 201 });
});
