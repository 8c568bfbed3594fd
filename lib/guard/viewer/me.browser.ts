import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { MeOut } from "@/lib/guard/accounts/accounts.shapes";
import { type Needs, whyNot } from "@/lib/guard/viewer/viewer.pure";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

/** Rights change seldom, and every change is judged by the server anyway. */
const STALE_MS = 60_000;

const never = () => () => undefined;

/**
 * Who uses this browser, and what that person may do. Undefined in the first render of a part that the server has rendered: it did
 * not know, and another part may have asked meanwhile.
 */
export function useMe(): { data: MeOut | undefined } {
  const hydrated = useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
  const { data } = useQuery({
    queryKey: keys.me,
    queryFn: ({ signal }) => fetchJson<MeOut>("/api/v1/me", { signal }),
    staleTime: STALE_MS,
    refetchInterval: STALE_MS,
  });
  return { data: hydrated ? data : undefined };
}

/**
 * Why the person may not do this, for a tooltip; null = it may, or nothing is known yet and the server decides.
 * @param everySource the change concerns every source, as a setting does
 */
export function useRefusal(needs: Needs | undefined, everySource = false): string | null {
  const { data: me } = useMe();
  if (me === undefined || needs === undefined || me.means === null) return null;
  return whyNot(me, needs, everySource);
}
