export interface OwnAddress {
  /** As the request names it, and as the house expects it. */
  host: string;
  /** What people were told; null when nothing is configured. */
  publicUrl: string | null;
  /** As a trusted proxy tells it; null when nobody did. */
  scheme: string | null;
}

/**
 * Whether a page of this origin is one of ours: of the public address, whatever host a proxy asks for, or of the host
 * that was asked for. Who speaks TLS in front of us need not say so; then both schemes are ours, except where the
 * public address says which one it is.
 */
export function isOwnOrigin(origin: string, { host, publicUrl, scheme }: OwnAddress): boolean {
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
  const given = new URL(origin).origin;
  const known = publicUrl === null ? null : new URL(publicUrl);
  if (given === known?.origin) return true;
  if (known && originOf(known.protocol, host) === known.origin) return false;
  const schemes = scheme === null ? ["http", "https"] : [scheme];
  return schemes.some((own) => originOf(`${own}:`, host) === given);
}

function originOf(protocol: string, host: string): string | null {
  const address = `${protocol}//${host}`;
  return URL.canParse(address) ? new URL(address).origin : null;
}
