import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { clientAddress } from "@/server/auth/client-address.ts";
import { services } from "@/server/services.ts";

const body = z.object({ name: z.string(), email: z.string(), password: z.string() });

/** Whoever holds the invite's address becomes a person of the tenant. */
export const POST = route<{ token: string }>(async (request, { token }) => {
  const input = await readJson(request, body);
  await services().accounts.acceptInvite({ ...input, token, clientAddress: clientAddress(request.headers) });
  return Response.json({ done: true }, { status: 201 });
});
