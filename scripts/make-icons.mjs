import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";
import { bringChromium } from "./lib/bring-chromium.mjs";
import { createSteps } from "./lib/steps.mjs";

// Run by hand when the mark changes: paints the icons in public/ from public/icon.svg, as a mouse asleep at night.
const root = fileURLToPath(new URL("..", import.meta.url));
const mark = readFileSync(`${root}public/icon.svg`, "utf8").replace(/<(style|title)>.*?<\/\1>/gs, "");

/** `mark` and `radius` are parts of the whole: launchers cut up to a tenth off each side of a maskable one. */
const icons = [
  { name: "icon-192.png", size: 192, mark: 0.7, radius: 0.22 },
  { name: "icon-512.png", size: 512, mark: 0.7, radius: 0.22 },
  { name: "icon-maskable-512.png", size: 512, mark: 0.54, radius: 0 },
  { name: "apple-touch-icon.png", size: 180, mark: 0.66, radius: 0 },
];

const browser = await chromium.launch({ executablePath: await bringChromium({ root, steps: createSteps() }) });
const page = await browser.newPage();
for (const { name, size, mark: part, radius } of icons) {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>
    body { margin: 0; background: transparent; }
    div { height: 100vh; display: grid; place-items: center; border-radius: ${radius * 100}%; }
    div { background: oklch(0.22 0.031 295); color: oklch(0.925 0.012 300); }
    svg { width: ${part * 100}%; }
    svg > path { stroke: oklch(0.74 0.1 292); }
  </style><div>${mark}</div>`);
  writeFileSync(`${root}public/${name}`, await page.screenshot({ omitBackground: true }));
}
await browser.close();
