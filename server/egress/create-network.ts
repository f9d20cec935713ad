import { eq } from "drizzle-orm";
import { z } from "zod";
import type { Database } from "../../db/client.ts";
import { tenants } from "../../db/schema/index.ts";
import { recordAudit } from "../audit/index.ts";
import { requireRole } from "../auth/index.ts";
import { AppError } from "../errors.ts";
import type { SandboxCaller } from "../gateway/index.ts";
import { parseInput } from "../lib/parse-input.ts";
import type { EgressRules } from "./check-target.ts";
import { formatHostRule, type HostRule, matchesHostRule, parseHostRule } from "./host-rule.ts";
import { type Network, networkRules } from "./index.ts";
import { permittedPorts, type Target } from "./target.ts";

/** A changed rule is felt by every replica after this much time at most. */
const rememberMilliseconds = 5_000;
const maxRemembered = 1_000;
const maxHosts = 200;

const input = z.object({ rule: z.enum(networkRules), hosts: z.array(z.string().max(300, "A host name is too long.")) });

interface TenantRule {
  rule: (typeof networkRules)[number];
  hosts: HostRule[];
}

/** The tenant's rule is on top of the server's own, which it can narrow and never widen. */
export function createNetwork({ database, server }: { database: Database; server: EgressRules }): Network & {
  /** Reads as the caller; throws when the rule cannot be read, so that nothing is let through then. */
  permits(caller: SandboxCaller, target: Target): Promise<boolean>;
} {
  const remembered = new Map<string, { rule: Promise<TenantRule>; until: number }>();

  async function readRule({ tenantId, userId }: SandboxCaller): Promise<TenantRule> {
    // The sandbox acts for its person, but never as an admin.
    const [row] = await database.transaction({ tenantId, userId, role: "user" }, (tx) =>
      tx.select({ rule: tenants.egressRule, hosts: tenants.egressHosts }).from(tenants),
    );
    if (!row) throw new Error("The tenant of a sandbox was not found.");
    return { rule: row.rule, hosts: row.hosts.flatMap((text) => parseHostRule(text) ?? []) };
  }

  function ruleOf(caller: SandboxCaller): Promise<TenantRule> {
    const { tenantId } = caller;
    const known = remembered.get(tenantId);
    if (known && known.until > performance.now()) return known.rule;
    const rule = readRule(caller);
    remembered.delete(tenantId);
    remembered.set(tenantId, { rule, until: performance.now() + rememberMilliseconds });
    const oldest = remembered.size > maxRemembered ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    rule.catch(() => remembered.get(tenantId)?.rule === rule && remembered.delete(tenantId));
    return rule;
  }

  /** In the order given, each once. */
  function parseHosts(given: readonly string[]): string[] {
    const hosts = new Set(given.filter((text) => text.trim() !== "").map((text) => formatHostRule(requireRule(text))));
    if (hosts.size > maxHosts) {
      throw new AppError("invalid-input", `The list has ${hosts.size} hosts. The limit is ${maxHosts}.`);
    }
    return [...hosts];
  }

  function requireRule(text: string): HostRule {
    const rule = parseHostRule(text);
    if (!rule) {
      throw new AppError(
        "invalid-input",
        `“${text.trim()}” is not a host name. Write it like packages.example.com, *.example.org or example.org:443.`,
      );
    }
    const { port } = rule;
    if (port !== null && !permittedPorts.includes(port) && !server.allow.some((one) => one.port === port)) {
      throw new AppError(
        "invalid-input",
        `“${text.trim()}” cannot be reached: port ${port} is closed on this server. Allowed ports: ${permittedPorts.join(", ")}.`,
      );
    }
    return rule;
  }

  return {
    async settings(viewer) {
      const [row] = await database.transaction(viewer, (tx) =>
        tx.select({ rule: tenants.egressRule, hosts: tenants.egressHosts }).from(tenants),
      );
      return {
        rule: row?.rule ?? "public",
        hosts: row?.hosts ?? [],
        server: {
          internet: server.kind === "open",
          exceptions: server.allow.map(({ host, port }) => formatHostRule({ host, port, below: false })),
        },
      };
    },
    async choose(viewer, given) {
      requireRole(viewer, "admin");
      const { rule, hosts: texts } = parseInput(input, given);
      const hosts = parseHosts(texts);
      await database.transaction(viewer, async (tx) => {
        await tx.update(tenants).set({ egressRule: rule, egressHosts: hosts }).where(eq(tenants.id, viewer.tenantId));
        await recordAudit(tx, viewer, { action: "network-choose", detail: { rule, hosts } });
      });
      remembered.delete(viewer.tenantId);
      return { rule, hosts };
    },
    async permits(caller, target) {
      const { rule, hosts } = await ruleOf(caller);
      return rule === "public" || hosts.some((one) => matchesHostRule(one, target));
    },
  };
}
