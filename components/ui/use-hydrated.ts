import { useSyncExternalStore } from "react";

const never = () => () => undefined;

/** False in the server's HTML and until the scripts of the page run: before that, a form would be sent as the browser sends forms. */
export function useHydrated(): boolean {
  return useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
}
