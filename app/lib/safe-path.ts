/** A path of this site to go on to, or `/`. Browsers read `//x`, `/\x` and `/<tab>/x` as other sites. */
export function safePath(wanted: unknown): string {
  if (typeof wanted !== "string" || !wanted.startsWith("/")) return "/";
  const here = "http://here.invalid";
  if (!URL.canParse(wanted, here)) return "/";
  const url = new URL(wanted, here);
  const path = `${url.pathname}${url.search}${url.hash}`;
  // `/.//x` stays on this site until somebody reads the shortened path again.
  if (url.origin !== here || path.startsWith("//")) return "/";
  return path;
}
