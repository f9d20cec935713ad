import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

export interface PasswordCost {
  N: number;
  r: number;
  p: number;
}

// 64 MiB a hash. Few at a time: a burst of sign-ins must not become a burst of memory.
const dearCost: PasswordCost = { N: 65_536, r: 8, p: 1 };
const atOnce = 4;
let running = 0;
const waiting: (() => void)[] = [];

/** `scrypt$N$r$p$salt$hash`: the parameters travel with the hash, so that they can be raised later. */
export async function hashPassword(password: string, cost = dearCost): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), hash.toString("base64url")].join("$");
}

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = stored.split("$");
  if (scheme !== "scrypt" || !salt || !hash) return false;
  const expected = Buffer.from(hash, "base64url");
  const actual = await derive(password, Buffer.from(salt, "base64url"), { N: Number(N), r: Number(r), p: Number(p) });
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

const decoys = new Map<PasswordCost, Promise<string>>();

/** Takes as long as a real check, so that the time does not tell whether an account exists. */
export async function verifyNothing(password: string, cost = dearCost): Promise<false> {
  const decoy = decoys.get(cost) ?? hashPassword(randomBytes(16).toString("hex"), cost);
  decoys.set(cost, decoy);
  await verifyPassword(password, await decoy);
  return false;
}

async function derive(password: string, salt: Buffer, { N, r, p }: PasswordCost): Promise<Buffer> {
  if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await new Promise((resolve, reject) => {
      scrypt(password.normalize("NFKC"), salt, 32, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
        error ? reject(error) : resolve(key),
      );
    });
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}
