import { build } from "esbuild";

/**
 * Makes one file of the sidecar, which runs inside the sandbox without the clone around it. Refuses
 * anything that is neither its own nor the protocol: what gets in here gets into every sandbox.
 *
 * @param {{ root: string, entry?: string }} options
 * @returns {Promise<{ code: string, inputs: string[] }>}
 */
export async function bundleSidecar({ root, entry = "sidecar/main.ts" }) {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node24",
    // Packages that were written for require() find it here.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs);
  const foreign = inputs.filter((path) => !/^(sidecar|server\/protocol)\/|(^|\/)node_modules\//.test(path));
  if (foreign.length > 0) throw new Error(`The sidecar may not contain ${foreign.join(", ")}.`);
  return { code: outputFiles[0]?.text ?? "", inputs };
}
