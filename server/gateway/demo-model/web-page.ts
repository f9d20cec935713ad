/** One file, no dependency. The edit scripts look for its title, its heading and its accent colour. */
export function webPage(title: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <style>
      :root { --accent: #b45309; }
      body { font: 18px/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem; }
      h1 { color: var(--accent); }
      button { background: var(--accent); color: white; border: 0; border-radius: 6px; padding: 0.6rem 1rem; }
    </style>
  </head>
  <body>
    <h1>${title}</h1>
    <p>This page was written by the demo model of Dormouse, by the same tools that a real model uses.</p>
    <button type="button" onclick="this.textContent = 'Pressed ' + ++count + ' times'">Press me</button>
    <script>let count = 0;</script>
  </body>
</html>
`;
}
