"use client";

import { Monitor, Moon, Sun } from "lucide-react";
import { IconButton } from "@/components/ui/button";
import { setTheme, type Theme, useTheme } from "@/lib/platform/browser/theme.browser";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const WORDS: Record<Theme, string> = { system: "system", light: "light", dark: "dark" };
const ICONS = { system: Monitor, light: Sun, dark: Moon };

export function ThemeToggle() {
  const theme = useTheme();
  const Icon = ICONS[theme];
  return (
    <IconButton label={`Theme: ${WORDS[theme]}. Switch to ${WORDS[NEXT[theme]]}`} onClick={() => setTheme(NEXT[theme])}>
      <Icon size={14} aria-hidden />
    </IconButton>
  );
}
