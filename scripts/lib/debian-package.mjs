import { findProgram } from "./find-program.mjs";
import { runChild } from "./run-child.mjs";

const installMilliseconds = 10 * 60_000;

/**
 * Installs a package of Debian where that needs nobody's password.
 *
 * @param {{ name: string, root: string, steps: import("./steps.mjs").Steps }} options
 * @returns {Promise<string>} why it was not installed; empty when it was
 */
export async function installDebianPackage({ name, root, steps }) {
  const apt = findProgram(["apt-get"]);
  if (!apt || process.getuid?.() !== 0) return "Only root can install packages, and only where apt-get exists.";
  const options = { cwd: root, timeoutMilliseconds: installMilliseconds };
  return steps.run({ doing: `Installing ${name}`, done: `Tried to install ${name}` }, async () => {
    // The lists of a fresh container are empty or old; where they are fresh, nothing is fetched.
    await runChild(apt, ["update", "-q"], options);
    const parameters = ["install", "-q", "-y", "--no-install-recommends", name];
    const { code, output } = await runChild(apt, parameters, options);
    return code === 0 ? "" : `apt-get ended with ${code}:\n${output.split("\n").slice(-5).join("\n")}`;
  });
}
