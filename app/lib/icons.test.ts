import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url));
const manifest = JSON.parse(read("public/manifest.webmanifest").toString()) as {
  theme_color: string;
  background_color: string;
  icons: { src: string; type: string; sizes: string }[];
};
const layout = read("app/layout.tsx").toString();
const [light, dark] = [
  ...read("app/globals.css")
    .toString()
    .matchAll(/--bg: oklch\(([^)]+)\)/g),
].map((match) => toHex((match[1] ?? "").split(" ").map(Number)));

describe("icons and manifest", () => {
  it("exist in the sizes they are said to have", () => {
    for (const { src, type, sizes } of manifest.icons) {
      const bytes = read(`public${src}`);
      if (type === "image/png") expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src).toBe(sizes);
      else expect(bytes.toString(), src).toContain("<svg");
    }
    expect(read("public/apple-touch-icon.png").readUInt32BE(16)).toBe(180);
  });

  it("are all that the layout links to", () => {
    const linked = [...layout.matchAll(/"(\/[a-z0-9-]+\.[a-z]+)"/g)].map((match) => match[1] ?? "");
    expect(linked).toEqual(expect.arrayContaining(["/manifest.webmanifest", "/icon.svg", "/apple-touch-icon.png"]));
    for (const path of linked) expect(read(`public${path}`).length, path).toBeGreaterThan(0);
  });

  it("have the ground of the pages", () => {
    expect(manifest).toMatchObject({ theme_color: light, background_color: light });
    expect(layout).toContain(`light)", color: "${light}"`);
    expect(layout).toContain(`dark)", color: "${dark}"`);
  });
});

// https://bottosson.github.io/posts/oklab/
function toHex([lightness = 0, chroma = 0, hue = 0]: number[]): string {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channels = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const encode = (value: number) => (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055);
  return `#${channels.map((value) => hexOf(Math.round(255 * encode(value)))).join("")}`;
}

function hexOf(value: number): string {
  return Math.min(255, Math.max(0, value)).toString(16).padStart(2, "0");
}
