import "@fontsource-variable/instrument-sans";
import "@fontsource/commit-mono/400.css";
import "./globals.css";

import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { ThemeProvider } from "@/components/theme-provider.tsx";
import { Toaster } from "@/components/ui/toaster.tsx";

export const metadata: Metadata = {
  title: { default: "Dormouse", template: "%s · Dormouse" },
  description: "Work with a coding agent that sleeps when idle and wakes with nothing lost.",
  robots: { index: false, follow: false },
  manifest: "/manifest.webmanifest",
  icons: {
    // Drawn for both schemes; the other one is for browsers that take no SVG.
    icon: [
      { url: "/icon.svg", type: "image/svg+xml", sizes: "any" },
      { url: "/icon-192.png", type: "image/png", sizes: "192x192" },
    ],
    apple: "/apple-touch-icon.png",
  },
};

export const viewport: Viewport = {
  viewportFit: "cover",
  colorScheme: "light dark",
  // --bg of globals.css, which browsers do not look up here.
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f5f3f9" },
    { media: "(prefers-color-scheme: dark)", color: "#14101e" },
  ],
};

export default function RootLayout({ children }: { children: ReactNode }) {
  return (
    // The theme is set on <html> before React arrives.
    <html lang="en" suppressHydrationWarning>
      <body>
        <ThemeProvider>
          {children}
          <Toaster />
        </ThemeProvider>
      </body>
    </html>
  );
}
