import { storedValue, useStoredValue } from "./stored-value";

export type Theme = "light" | "dark" | "system";

const KEY = "parkade.theme";
const stored = storedValue(KEY);

/**
 * Runs in <head> before the first paint, so that no page flashes in the other theme. Without a choice the attribute
 * stays away and the system decides, also when it changes at dusk.
 */
export const THEME_SCRIPT = `try{var t=localStorage.getItem(${JSON.stringify(KEY)});if(t==="light"||t==="dark")document.documentElement.dataset.theme=t}catch(e){}`;

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
