const account = { email: "ada@example.org", password: "correct horse battery" };

/** For `DORMOUSE_SETUP_CODE` where nobody reads the terminal. */
export const setupCode = "boot-tests-set-up-code";

export interface FirstPerson {
  /** Of one who is signed in. */
  headers: { cookie: string; origin: string };
  call<Result>(method: string, path: string, body?: unknown): Promise<Result>;
}

/** Makes the first account, the admin's, and signs in with it, as a program does. */
export async function becomeFirst(url: string): Promise<FirstPerson> {
  const json = { "content-type": "application/json" };
  const person = { tenantName: "Dusk", name: "Ada", ...account, setupCode, hostConsent: true };
  const made = await fetch(`${url}/api/v1/first-run`, { method: "POST", headers: json, body: JSON.stringify(person) });
  if (made.status !== 201) throw new Error(`The first run answered ${made.status}: ${await made.text()}`);
  const csrf = await fetch(`${url}/api/auth/csrf`);
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const signedIn = await fetch(`${url}/api/auth/callback/credentials`, {
    method: "POST",
    headers: { cookie: cookiesOf(csrf) },
    body: new URLSearchParams({ ...account, csrfToken, json: "true" }),
    redirect: "manual",
  });
  const headers = { cookie: cookiesOf(signedIn), origin: url };
  return {
    headers,
    async call<Result>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { ...json, ...headers },
        body: body === undefined ? null : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as Result;
    },
  };
}

function cookiesOf(response: Response): string {
  const cookies = response.headers.getSetCookie();
  return cookies.map((cookie) => cookie.split(";")[0]).join("; ");
}
