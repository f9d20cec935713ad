import { z } from "zod";
import { readJson } from "@/app/lib/read-json.ts";
import { route } from "@/app/lib/route-handler.ts";
import { requireUser } from "@/server/auth/require-user.ts";
import { maxAnswerLength } from "@/server/protocol/limits.ts";
import { services } from "@/server/services.ts";
import { permissionReplies } from "@/server/turns/index.ts";

const label = z.string().max(maxAnswerLength, "An answer can have at most 10,000 characters.");
/** Of a question its answers, of a permission the reply. */
const answer = z.union(
  [
    z.object({ answers: z.array(z.array(label).max(50)).min(1).max(20) }),
    z.object({ reply: z.enum(permissionReplies) }),
  ],
  "Send one list of answers for each question, or a reply to a permission: once, always or reject.",
);

export const POST = route<{ askId: string }>(async (request, { askId }) => {
  const viewer = await requireUser();
  await services().turns.answer(viewer, { askId, answer: await readJson(request, answer) });
  return new Response(null, { status: 204 });
});
