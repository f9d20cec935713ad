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
};

export const viewport: Viewport = { viewportFit: "cover", colorScheme: "light dark" };

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
