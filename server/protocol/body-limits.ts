import { maxPromptBytes } from "./limits.ts";

const kilobyte = 1024;
const defaultBytes = 64 * kilobyte;
// JSON may need more bytes than the text that it holds: an escape is up to four times as long as what it stands for.
const promptBytes = 4 * maxPromptBytes;
const answerBytes = 1024 * kilobyte;
const modelListBytes = 512 * kilobyte;

const larger: readonly (readonly [path: RegExp, bytes: number])[] = [
  [/^\/api\/v1\/sessions\/[^/]+\/turns(?:\/[^/]+)?$/, promptBytes],
  [/^\/api\/v1\/asks\/[^/]+\/answer$/, answerBytes],
  [/^\/api\/v1\/admin\/providers\/[^/]+\/models$/, modelListBytes],
  // The same by the page's own actions, which are posted to it.
  [/^\/settings\/models$/, modelListBytes],
  // Model calls pass through the gateway, which keeps nothing of them and counts for itself.
  [/^\/api\/llm\//, Number.POSITIVE_INFINITY],
];

/** How many bytes a request to this path may carry, whoever answers it: route, page, server action or sign-in. */
export function maxBodyBytes(path: string): number {
  return larger.find(([pattern]) => pattern.test(path))?.[1] ?? defaultBytes;
}
