const maxSeed = 1_000_000;

/**
 * Which seeds to run: SEED names one, or several with commas between them; SEEDS=n means 1 to n. A seed that is none
 * is an error, since what runs nothing would pass.
 *
 * @param {{ seed: string | undefined, seeds: string | undefined, otherwise: number }} input
 * @returns {number[]}
 */
export function chooseSeeds({ seed, seeds, otherwise }) {
  if (seed !== undefined && seed !== "") return seed.split(",").map((text) => readNumber("SEED", text));
  const count = seeds === undefined || seeds === "" ? otherwise : readNumber("SEEDS", seeds);
  return Array.from({ length: count }, (_, index) => index + 1);
}

/**
 * @param {string} variable
 * @param {string} text
 */
function readNumber(variable, text) {
  const number = Number(text);
  if (/^\s*\d+\s*$/.test(text) && number >= 1 && number <= maxSeed) return number;
  throw new Error(`${variable} must be a whole number from 1 to ${maxSeed}, not "${text}".`);
}
