import { domainToASCII } from "node:url";
import { parseTarget, type Target } from "./target.ts";

/** One line of a tenant's list: `host`, `*.host` for all that is below it, each with or without a port. */
export interface HostRule {
  /** As a target has it. */
  host: string;
  below: boolean;
  /** Null stands for every port that is open. */
  port: number | null;
}

/** Null when it is anything else, such as a web address. */
export function parseHostRule(text: string): HostRule | null {
  const [, star, given = "", port] = /^(\*\.)?(\[[^\]]*\]|[^:/@\s*]+)(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  const name = /^[\x21-\x7e]*$/.test(given) ? given : domainToASCII(given);
  const target = parseTarget(`${name}:${port ?? 443}`);
  if (!target || target.host.split(".").some((label) => label === "" || label.length > 63)) return null;
  return { host: target.host, below: star !== undefined, port: port ? target.port : null };
}

export function formatHostRule({ host, below, port }: HostRule): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `${below ? "*." : ""}${name}${port === null ? "" : `:${port}`}`;
}

export function matchesHostRule(rule: HostRule, target: Target): boolean {
  if (rule.port !== null && rule.port !== target.port) return false;
  return rule.below ? target.host.endsWith(`.${rule.host}`) : target.host === rule.host;
}
