// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is being taken out
const sequences = /\u001b(?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[[(][0-?]*[ -/]*[@-~]|[@-Z\\-_])/g;

/** A terminal's output as plain text: without colours, and a line that was written over shows its last form. */
export function stripAnsi(text: string): string {
  return text
    .replace(sequences, "")
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1).replace(/\r+$/, ""))
    .join("\n");
}
