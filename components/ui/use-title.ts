import { useEffect } from "react";

/** The browser's title of a page about one thing, which the page reads itself. undefined = not read yet. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    if (name !== undefined) document.title = `${name} · Parkade`;
  }, [name]);
}
