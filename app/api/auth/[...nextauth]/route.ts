import { cookies } from "next/headers";
import NextAuth from "next-auth";
import { route } from "@/app/lib/route-handler.ts";
import { authOptions } from "@/server/auth/next-auth.ts";
import { AppError } from "@/server/errors.ts";

// What our pages use. next-auth answers more, and fails with 500 on what it does not expect.
const offered = ["GET csrf", "GET providers", "GET session", "POST callback/credentials"];

const handler = route<{ nextauth: string[] }>(async (request, { nextauth }) => {
  if (!offered.includes(`${request.method} ${nextauth.join("/")}`)) {
    throw new AppError("not-found", "There is nothing at this address.");
  }
  const form = request.method === "POST" ? await readForm(request) : new URLSearchParams();
  const addresses = [...new URL(request.url).searchParams, ...form].filter(([name]) => name === "callbackUrl");
  if (!addresses.every(([, address]) => isAddress(address))) {
    throw new AppError("invalid-input", "The address to go on to is not valid.");
  }
  await refuseWrongCookie();
  return NextAuth(authOptions())(request, { params: Promise.resolve({ nextauth }) });
});

export { handler as GET, handler as POST };

/** As the sign-in page sends it; the request can be read again. */
async function readForm(request: Request): Promise<URLSearchParams> {
  if (!request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded")) {
    throw new AppError(
      "invalid-input",
      "Send a form, with the header content-type: application/x-www-form-urlencoded.",
    );
  }
  const form = new URLSearchParams(await request.clone().text());
  if ([...form].flat().some((text) => text.includes("\0")))
    throw new AppError("invalid-input", "The form is not valid.");
  return form;
}

/** Removed as well: nobody can do that by hand. */
async function refuseWrongCookie(): Promise<void> {
  const jar = await cookies();
  for (const { name, value } of jar.getAll()) {
    if (!name.endsWith("next-auth.callback-url") || value === "" || isAddress(value)) continue;
    jar.delete(name);
    throw new AppError("invalid-input", "A cookie of this site was not valid and has been removed. Try again.");
  }
}

function isAddress(text: string): boolean {
  if (text === "") return true;
  const base = text.startsWith("/") ? "http://here.invalid" : undefined;
  return URL.canParse(text, base) && /^https?:$/.test(new URL(text, base).protocol);
}
