import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { clientAddress } from "@/server/auth/client-address.ts";
import { services } from "@/server/services.ts";

const body = z.object({
  tenantName: z.string(),
  name: z.string(),
  email: z.string(),
  password: z.string(),
  setupCode: z.string("The set-up code is missing."),
  hostConsent: z.boolean().optional(),
});

/** For installations that no person clicks through. The page calls the same use case. */
export const POST = route(async (request) => {
  const input = await readJson(request, body);
  await services().accounts.completeFirstRun({ ...input, clientAddress: clientAddress(request.headers) });
  return Response.json({ done: true }, { status: 201 });
});
