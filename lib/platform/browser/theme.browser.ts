import { THEME_KEY } from "./head-scripts.browser";
import { storedValue, useStoredValue } from "./stored-value.browser";

export type Theme = "light" | "dark" | "system";

const stored = storedValue(THEME_KEY);

function themeOf(value: string | null): Theme {
  return value === "light" || value === "dark" ? value : "system";
}

export function useTheme(): Theme {
  return themeOf(useStoredValue(stored));
}

export function setTheme(theme: Theme): void {
  stored.set(theme === "system" ? null : theme);
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
