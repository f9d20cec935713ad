/**
 * npm forgets the optional packages of other platforms that its registry does not have, and `npm ci` then
 * refuses the lock on every machine. Their versions are known all the same: the package that wants them
 * names each exactly. What stays unknown is the digest, which npm leaves unchecked where it is absent.
 *
 * @typedef {{
 *   version?: string, integrity?: string, optionalDependencies?: Record<string, string>,
 *   dev?: boolean, devOptional?: boolean, peer?: boolean, optional?: boolean,
 *   cpu?: string[], os?: string[], libc?: string[],
 * }} LockEntry
 * @typedef {{ packages: Record<string, LockEntry> }} Lock
 */

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm", "arm64", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "x64"];

/**
 * Every optional package that is wanted and has no entry.
 *
 * @param {Lock} lock
 * @returns {{ name: string, version: string, wantedBy: string }[]}
 */
export function missingPlatforms({ packages }) {
  return Object.entries(packages).flatMap(([wantedBy, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !ancestors(wantedBy).some((path) => packages[`${path}node_modules/${name}`]))
      .map(([name, version]) => ({ name, version, wantedBy })),
  );
}

/**
 * The names of packages that have a version and no digest.
 *
 * @param {Lock} lock
 */
export function uncheckedPackages({ packages }) {
  return Object.keys(packages).filter((path) => path !== "" && !packages[path]?.integrity);
}

/**
 * The same lock with an entry for everything that is missing, read from its name.
 *
 * @param {Lock} lock
 * @returns {Lock}
 */
export function withMissingPlatforms(lock) {
  const packages = { ...lock.packages };
  for (const { name, version, wantedBy } of missingPlatforms(lock)) {
    packages[`node_modules/${name}`] = entryOf(name, version, packages[wantedBy] ?? {});
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, "en"));
  return { ...lock, packages: Object.fromEntries(sorted) };
}

/**
 * @param {string} name
 * @param {string} version
 * @param {LockEntry} wanting
 * @returns {LockEntry}
 */
function entryOf(name, version, { dev, peer }) {
  const words = name.replace("windows", "win32").split(/[-/]/);
  const cpu = words.find((word) => processors.includes(word));
  const os = words.find((word) => systems.includes(word));
  const last = words.at(-1) ?? "";
  const libc = last === "musl" ? "musl" : last === "gnu" ? "glibc" : null;
  // Without them it would be installed everywhere.
  if (!cpu || !os || !/^\d+\.\d+\.\d+/.test(version)) throw new Error(`${name}@${version} names no platform`);
  return {
    version,
    cpu: [cpu],
    ...(dev ? { dev } : {}),
    ...(libc ? { libc: [libc] } : {}),
    optional: true,
    os: [os],
    ...(peer ? { peer } : {}),
  };
}

/**
 * The folders in which Node looks for what a package wants.
 *
 * @param {string} path of the package, as the lock has it
 */
function ancestors(path) {
  if (path === "") return [""];
  const folders = path.split("/node_modules/");
  return ["", ...folders.map((_, index) => `${folders.slice(0, index + 1).join("/node_modules/")}/`)];
}
