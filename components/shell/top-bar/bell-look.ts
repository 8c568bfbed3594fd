import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { plural } from "@/lib/platform/plain/format.pure";

const COLOURS = { critical: "text-danger!", warning: "text-warning!", info: "text-queued!" } as const;

/** What the bell shows; null = the store did not say. */
export function bellLook(alerts: StatusOut["alerts"]): { words: string; count: number; colour: string } {
  if (alerts === null) return { words: "Alerts: unknown", count: 0, colour: "text-faint!" };
  const { firing, unacknowledged, worst } = alerts;
  if (firing === 0) return { words: "Alerts: none firing", count: 0, colour: "" };
  const words = `Alerts: ${firing === 1 ? "1 firing" : `${firing} firing`}, ${
    unacknowledged === 0 ? "all acknowledged" : `${plural(unacknowledged, "is", "are")} not acknowledged`
  }`;
  return { words, count: unacknowledged, colour: worst === null ? "" : COLOURS[worst] };
}
