"use client";

import { Monitor, Moon, Sun } from "lucide-react";
import { useTheme } from "next-themes";
import { useInBrowser } from "../ui/use-in-browser.ts";

const themes = [
  { value: "light", label: "Light", icon: Sun },
  { value: "dark", label: "Dark", icon: Moon },
  { value: "system", label: "System", icon: Monitor },
] as const;

export function ThemeChoice() {
  const { theme, setTheme } = useTheme();
  // The choice lives in the browser.
  const inBrowser = useInBrowser();
  return (
    <fieldset className="flex">
      <legend className="sr-only">Theme</legend>
      <div className="flex rounded-control border border-line bg-panel p-0.5">
        {themes.map(({ value, label, icon: Icon }) => (
          <label
            key={value}
            className="flex h-8 items-center gap-2 rounded-control border border-transparent px-3 text-13 text-muted transition-colors hover:text-ink has-checked:border-line has-checked:bg-raised has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-ink pointer-coarse:h-10"
          >
            <input
              type="radio"
              name="theme"
              value={value}
              className="sr-only"
              checked={inBrowser && theme === value}
              onChange={() => setTheme(value)}
            />
            <Icon aria-hidden="true" className="size-4" strokeWidth={1.75} />
            {label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
