import { installDebianPackage } from "./debian-package.mjs";
import { findProgram } from "./find-program.mjs";
import { Problem } from "./problem.mjs";

/**
 * The tests of the sandbox need a real bubblewrap. Leaving them out is a choice that somebody must make.
 *
 * @param {{ root: string, steps: import("./steps.mjs").Steps }} options
 */
export async function bringBubblewrap({ root, steps }) {
  if (process.env.DORMOUSE_TEST_WITHOUT_BUBBLEWRAP === "1") {
    steps.say("Tests of sandboxes are left out (DORMOUSE_TEST_WITHOUT_BUBBLEWRAP=1)");
    return;
  }
  if (findProgram(["bwrap"])) return;
  const why = await installDebianPackage({ name: "bubblewrap", root, steps });
  if (findProgram(["bwrap"])) return;
  throw new Problem(`The tests of sandboxes need bubblewrap, which is not installed here. ${why}
Install the package bubblewrap, or set DORMOUSE_TEST_WITHOUT_BUBBLEWRAP=1 to leave those tests out.`);
}
