import type { NextConfig } from "next";

const development = process.env.NODE_ENV === "development";

// Next puts its bootstrap into inline scripts; development also evaluates code for hot reload.
const contentSecurityPolicy = [
  "default-src 'self'",
  `script-src 'self' 'unsafe-inline'${development ? " 'unsafe-eval'" : ""}`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

// What an agent wrote. The last value of a header wins, also over what the route itself answers.
const filePolicy = "sandbox; default-src 'none'";

const config: NextConfig = {
  poweredByHeader: false,
  reactStrictMode: true,
  // `npm run check` checks the types; a start need not do it again.
  typescript: { ignoreBuildErrors: true },
  serverExternalPackages: ["postgres", "pino"],
  headers: async () => [
    {
      source: "/:path*",
      headers: [
        { key: "Content-Security-Policy", value: contentSecurityPolicy },
        { key: "X-Content-Type-Options", value: "nosniff" },
        { key: "X-Frame-Options", value: "DENY" },
        { key: "Referrer-Policy", value: "same-origin" },
        { key: "Permissions-Policy", value: "camera=(), microphone=(), geolocation=()" },
        { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
      ],
    },
    {
      source: "/api/v1/sessions/:path*/content",
      headers: [{ key: "Content-Security-Policy", value: filePolicy }],
    },
  ],
};

export default config;
