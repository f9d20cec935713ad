/** Something that the person who started us can mend: its message is shown alone, without a stack. */
export class Problem extends Error {}

/**
 * @param {() => Promise<number>} program resolves with the exit code
 */
export async function runProgram(program) {
  try {
    process.exitCode = await program();
  } catch (error) {
    console.error(error instanceof Problem ? `\n${error.message}` : error);
    process.exitCode = 1;
  }
}
