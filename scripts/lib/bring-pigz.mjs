import { installDebianPackage } from "./debian-package.mjs";
import { findProgram } from "./find-program.mjs";

/**
 * The bench of archives has pigz as a peer. Without it there is one peer less, and the table says so.
 *
 * @param {{ root: string, steps: import("./steps.mjs").Steps }} options
 */
export async function bringPigz({ root, steps }) {
  if (findProgram(["pigz"])) return;
  const why = await installDebianPackage({ name: "pigz", root, steps });
  if (!findProgram(["pigz"])) steps.say(`pigz is not installed. ${why}`);
}
