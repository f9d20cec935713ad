import { Agent, get } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";

/** Somebody who is signed in at a running Dormouse. */
export interface Person {
  call<Result = unknown>(method: string, path: string, body?: unknown): Promise<Result>;
  /** Resolves once the stream is open; `stop` ends it. `onEnd` is called when it ends in any other way. */
  follow(path: string, onEvent: (event: EventSourceMessage) => void, onEnd?: () => void): Promise<{ stop(): void }>;
}

export interface Credentials {
  email: string;
  password: string;
}

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });

/** Signs in with the form that the sign-in page sends. */
export async function signIn(url: string, credentials: Credentials): Promise<Person> {
  const csrf = await fetch(`${url}/api/auth/csrf`);
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const signedIn = await fetch(`${url}/api/auth/callback/credentials`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", cookie: cookiesOf(csrf) },
    body: new URLSearchParams({ ...credentials, csrfToken, json: "true" }),
    redirect: "manual",
  });
  const cookie = cookiesOf(signedIn);
  if (!cookie.includes("session-token")) throw new Error(`Signing in failed with ${signedIn.status}.`);
  const headers = { cookie, origin: url };
  return {
    async call<Result>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...headers, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(60_000),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return (response.status === 204 ? null : await response.json()) as Result;
    },
    follow: (path, onEvent, onEnd = () => {}) =>
      new Promise((resolve, reject) => {
        let stopped = false;
        const request = get(`${url}${path}`, { headers, agent }, (response) => {
          if (response.statusCode !== 200) return reject(new Error(`GET ${path}: ${response.statusCode}`));
          const parser = createParser({ onEvent });
          response.setEncoding("utf8");
          response.on("data", (text: string) => parser.feed(text));
          response.on("close", () => stopped || onEnd());
          const stop = () => {
            stopped = true;
            request.destroy();
          };
          resolve({ stop });
        });
        request.on("error", reject);
        request.setTimeout(60_000);
      }),
  };
}

/** The admin invites, the person comes. */
export async function invitePerson(url: string, admin: Person, credentials: Credentials): Promise<Person> {
  const invited = await admin.call<{ url: string }>("POST", "/api/v1/admin/invites", { role: "user" });
  const token = invited.url.split("/").at(-1);
  const accepted = await fetch(`${url}/api/v1/invites/${token}/accept`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: credentials.email, ...credentials }),
  });
  if (!accepted.ok) throw new Error(`An invite was not accepted: ${await accepted.text()}`);
  return signIn(url, credentials);
}

function cookiesOf(response: Response): string {
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}
