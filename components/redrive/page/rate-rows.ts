import type { Marker } from "@/components/charts/marker-layout";
import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import type { RedriveRate } from "@/lib/redrive/redrives.shapes";

export type RateRow = { atMs: number; values: { delivered: number; failed: number; refused: number } };

/**
 * The lines of the chart: what is sent. A refusal is no send and has no rate limit: a thousand of them at once would press
 * the sends to the bottom of the axis. The samples of the rate do not tell the deduplicated events from the sent ones.
 */
export function rateLines(deduplicated: number) {
  const label = deduplicated === 0 ? "sent" : "sent or deduplicated";
  return [
    { key: "delivered", label, colour: "var(--state-redriven)", step: true },
    { key: "failed", label: "failed", colour: "var(--state-blacklisted)", dash: "4 2", step: true },
  ] as const;
}

/**
 * Outcomes per second and bucket, in the unit of the set rate. The answer has no bucket without outcomes; such a bucket
 * is zero here, because a line across a pause would show sends that did not happen.
 */
export function rateRows({ buckets, bucketMs, asOf }: Pick<RedriveRate, "buckets" | "bucketMs" | "asOf">): RateRow[] {
  const perSecond = (count: number) => (count * 1000) / bucketMs;
  const rows: RateRow[] = [];
  for (const bucket of buckets) {
    const atMs = Date.parse(bucket.at);
    for (let gapMs = (rows.at(-1)?.atMs ?? atMs) + bucketMs; gapMs < atMs; gapMs += bucketMs) rows.push(nothing(gapMs));
    rows.push({
      atMs,
      values: {
        delivered: perSecond(bucket.delivered),
        failed: perSecond(bucket.failed),
        refused: perSecond(bucket.refused),
      },
    });
  }
  // The running bucket is incomplete: its rate would fall at the end of every line.
  const runs = rows.length > 1 && rows.at(-1)!.atMs + bucketMs > Date.parse(asOf);
  return runs ? rows.slice(0, -1) : rows;
}

function nothing(atMs: number): RateRow {
  return { atMs, values: { delivered: 0, failed: 0, refused: 0 } };
}

const STEPS = new Map<string, Marker["kind"]>([
  ["redrive.paused", "paused"],
  ["redrive.braked", "paused"],
  ["redrive.resumed", "resumed"],
]);

/** The pauses of the redrive on its chart, each with its actor and reason. */
export function pauseMarkers(
  entries: readonly Pick<AuditOut, "id" | "at" | "actor" | "action" | "reason">[],
): Marker[] {
  return entries.flatMap(({ id, at, actor, action, reason }) => {
    const kind = STEPS.get(action);
    return kind === undefined ? [] : [{ id, at, kind, label: reason ? `${reason} (${actor})` : actor, href: null }];
  });
}
