import { type Dispatcher, fetch, type Response } from "undici";
import { z } from "zod";
import { AppError } from "../errors.ts";
import type { ProviderKind } from "./index.ts";

const answer = z.object({
  data: z.array(z.object({ id: z.string().min(1), display_name: z.string().optional(), name: z.string().optional() })),
});
const maxBytes = 4 * 1024 * 1024;

export interface ProviderAddress {
  kind: ProviderKind;
  baseUrl: string;
  key: string | null;
  outbound: Dispatcher;
}

/** Asks a provider which models it has. Every way to fail becomes an `upstream` error that says what to check. */
export async function listModels(
  { kind, baseUrl, key, outbound }: ProviderAddress,
  signal: AbortSignal,
): Promise<{ id: string; name: string }[]> {
  const response = await ask(`${baseUrl}/models`, { headers: authorization(kind, key), dispatcher: outbound }, signal);
  if (!response.ok) throw refusal(response.status, baseUrl);
  const parsed = answer.safeParse(await readJson(response));
  if (!parsed.success) {
    throw new AppError("upstream", `${baseUrl} answered, but not with a list of models. Check the address.`);
  }
  return parsed.data.data.map(({ id, display_name, name }) => ({ id, name: display_name ?? name ?? id }));
}

function authorization(kind: ProviderKind, key: string | null): Record<string, string> {
  if (!key) return {};
  return kind === "anthropic"
    ? { "x-api-key": key, "anthropic-version": "2023-06-01" }
    : { authorization: `Bearer ${key}` };
}

async function ask(
  url: string,
  options: { headers: Record<string, string>; dispatcher: Dispatcher },
  signal: AbortSignal,
): Promise<Response> {
  try {
    // A redirect would carry the key to a host that nobody configured.
    return await fetch(url, {
      ...options,
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
    });
  } catch (error) {
    const { host } = new URL(url);
    if (error instanceof Error && error.name === "TimeoutError") {
      throw new AppError("upstream", `${host} did not answer within 10 seconds.`, { cause: error });
    }
    throw new AppError("upstream", `${host} cannot be reached. Check the address and this machine's network.`, {
      cause: error,
    });
  }
}

function refusal(status: number, baseUrl: string): AppError {
  if (status === 401 || status === 403) {
    return new AppError(
      "upstream",
      `The provider refused the key (HTTP ${status}). Check that it is complete and active.`,
    );
  }
  if (status === 404) {
    return new AppError("upstream", `${baseUrl}/models does not exist (HTTP 404). Check the address; most end in /v1.`);
  }
  return new AppError("upstream", `The provider answered with HTTP ${status}. Try again in a moment.`);
}

async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new AppError("upstream", "The provider's list of models is larger than 4 MB.");
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return null;
  }
}
