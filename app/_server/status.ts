import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readStatus, type StoredStatus } from "@/lib/observe/health/status.read";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import type { Deps } from "./deps";

/**
 * The strip is polled: a part that does not answer is shown as failing, and old data allows no action. A slow store still does what it is
 * asked to, so it gets nearly as long as the browser waits.
 */
const PART_MS_MAX = 4_000;

const UNKNOWN: StoredStatus = {
  lanes: [
    { lane: "main", ratePerSecondNow: null, ratePerSecondSet: null, targets: null },
    { lane: "slow", ratePerSecondNow: null, ratePerSecondSet: null, targets: null },
  ],
  redrivesRunning: null,
  approvalsWaiting: null,
  approvalsForViewer: null,
  redrivesWaiting: null,
  operationsRunning: null,
  worker: null,
  trouble: null,
  bucket: null,
  stops: null,
  alerts: null,
  intakeStops: null,
  changes: null,
};

/** Rejects with DomainError `forbidden` alone: what cannot be had is null, and says so by `ok`. */
export async function statusOf(
  deps: Pick<Deps, "db" | "lane" | "clock">,
  viewer: Viewer,
  nowMs: number,
): Promise<StatusOut> {
  assertMay(viewer, "view");
  const [stored, queueOk] = await Promise.all([
    inTime(deps, readStatus(deps.db, viewer)),
    inTime(
      deps,
      deps.lane.ping().then(() => true),
    ),
  ]);
  return {
    asOf: iso(nowMs),
    ...(stored ?? UNKNOWN),
    queue: { backend: deps.lane.backend, ok: queueOk === true },
    store: { ok: stored !== null },
  };
}

/** Best effort: null when it failed or took too long. */
async function inTime<T>({ clock }: Pick<Deps, "clock">, part: Promise<T>): Promise<T | null> {
  const timer = new AbortController();
  const late = clock.sleep(PART_MS_MAX, timer.signal).then(
    () => null,
    () => null,
  );
  const answer = await Promise.race([part.catch(() => null), late]);
  timer.abort();
  return answer;
}
