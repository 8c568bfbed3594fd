import type { ImposedStop } from "@/lib/guard/stops/stops.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useChange } from "@/lib/platform/browser/resource.browser";

/** `target` null = everything. */
type StopChange = { target: string | null; reason?: string };

const pathOf = (target: string | null) =>
  `/api/v1/stops/${target === null ? "everything" : `targets/${encodeURIComponent(target)}`}`;

const useStopChange = <Answer>(method: "PUT" | "DELETE") =>
  useChange("stops", ({ target, reason }: StopChange) =>
    fetchJson<Answer>(pathOf(target), { method, body: reason === undefined ? {} : { reason } }),
  );

export const useStopSends = () => useStopChange<ImposedStop>("PUT");
export const useResumeSends = () => useStopChange<{ lifted: boolean }>("DELETE");
