import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { noteChanges } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { noteAnswer, noteUnreachable } from "@/lib/platform/browser/freshness.browser";
import { keys } from "@/lib/platform/browser/keys.browser";

/** The present flow and the health of the parts of Parkade. Polled; a failed poll keeps the last answer. */
const STATUS_POLL_MS = 5_000;
/** The server gives each part of the status four seconds. */
const STATUS_TIMEOUT_MS = 5_000;

async function readStatus(signal: AbortSignal): Promise<StatusOut> {
  try {
    const status = await fetchJson<StatusOut>("/api/v1/status", { signal, timeoutMs: STATUS_TIMEOUT_MS });
    // Without its database the server has no new data, so the data of the page must count as old.
    if (status.store.ok) noteAnswer();
    noteChanges(status.changes);
    return status;
  } catch (error) {
    if (error instanceof ApiError && error.code === "offline") noteUnreachable();
    throw error;
  }
}

const never = () => () => {};

/**
 * The status, as every part of the console sees it. A page hydrates after the frame around it, whose status may be there
 * by then; the server rendered the page without one, so the page has none until it is hydrated.
 */
export function useStatus(): { data: StatusOut | undefined; error: ApiError | null } {
  const hydrated = useSyncExternalStore(
    never,
    () => true,
    () => false,
  );
  const { data, error } = useQuery<StatusOut, ApiError>({
    queryKey: keys.status,
    queryFn: ({ signal }) => readStatus(signal),
    refetchInterval: STATUS_POLL_MS,
    staleTime: STATUS_POLL_MS,
    // A hidden tab does not poll, so a tab that becomes visible must poll at once.
    refetchOnWindowFocus: true,
    // The next poll is the retry.
    retry: false,
  });
  return hydrated ? { data, error } : { data: undefined, error: null };
}
