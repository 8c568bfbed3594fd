import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import { formatRate, plural } from "@/lib/platform/plain/format.pure";

/** The number of lit bars out of five: none only without flow, all only at the set rate. */
export function gaugeLevel(lane: Pick<StatusOut["lanes"][number], "ratePerSecondNow" | "ratePerSecondSet">): number {
  const { ratePerSecondNow: now, ratePerSecondSet: set } = lane;
  if (now === null || now <= 0) return 0;
  // Without a limit there is no share; one bar shows that something flows.
  if (set === null || set <= 0) return 1;
  return Math.min(5, Math.max(1, Math.floor((now / set) * 5 + 0.05)));
}

/** `5/s` `of 10`. `of` null = nothing to compare with. */
export function laneWords(lane: StatusOut["lanes"][number]): { now: string; of: string | null; tip: string } {
  const { ratePerSecondNow, ratePerSecondSet, targets } = lane;
  if (ratePerSecondNow === null || targets === null) return { now: "?", of: null, tip: "the rate is not known now" };
  if (targets === 0) return { now: "no target", of: null, tip: "no target uses this lane" };
  const now = formatRate(ratePerSecondNow);
  const of = ratePerSecondSet === null ? "no limit" : `of ${formatRate(ratePerSecondSet).replace("/s", "")}`;
  const set = ratePerSecondSet === null ? "at least one without a limit" : `${formatRate(ratePerSecondSet)} in all`;
  return { now, of, tip: `${now} now; ${plural(targets, "target")}, ${set}` };
}

/** The slow lane first, because people watch it. */
export function lanesInOrder(lanes: StatusOut["lanes"]): StatusOut["lanes"] {
  return lanes.toSorted((a, b) => Number(a.lane === "main") - Number(b.lane === "main"));
}

export function workerHealth(worker: StatusOut["worker"]): { ok: boolean; unknown: boolean; detail: string } {
  if (worker === null) return { ok: false, unknown: true, detail: "it is unknown whether a worker is running" };
  if (worker.alive === 0)
    return { ok: false, unknown: false, detail: "no worker is running: nothing is sent, redrives wait" };
  return {
    ok: true,
    unknown: false,
    detail: worker.alive === 1 ? "1 worker is running" : `${worker.alive} workers are running`,
  };
}

/** How many requests wait for an approval: of those that the viewer may answer, if there are any. null = none, or unknown. */
export function approvalsShown(
  status: Pick<StatusOut, "approvalsWaiting" | "approvalsForViewer">,
): { count: number; what: string } | null {
  if (status.approvalsForViewer) return { count: status.approvalsForViewer, what: "your approval" };
  return status.approvalsWaiting ? { count: status.approvalsWaiting, what: "approval" } : null;
}

export type StatusProblem = {
  key: string;
  words: string;
  href: "/targets" | "/sources" | "/operations" | "/alerts" | "/alerts/channels";
};

function named(names: readonly string[]): string {
  return names.length === 1 ? names[0]! : `${names[0]} and ${names.length - 1} more`;
}

/** Problems that stop events from being sent, parked or archived, or people from being notified, each with the page to solve it. */
export function problemsOf(status: Pick<StatusOut, "trouble" | "worker">): StatusProblem[] {
  const problems: StatusProblem[] = [];
  const {
    openBreakers = [],
    failingSources = [],
    archive = null,
    alerts = null,
    channelsOff = 0,
  } = status.trouble ?? {};
  if (status.worker?.alive === 0)
    problems.push({ key: "worker", words: "no worker is running: nothing is sent", href: "/targets" });
  if (openBreakers.length > 0) {
    problems.push({ key: "breakers", words: `breaker open: ${named(openBreakers)}`, href: "/targets" });
  }
  if (failingSources.length > 0) {
    problems.push({ key: "sources", words: `sources failing: ${named(failingSources)}`, href: "/sources" });
  }
  if (archive !== null)
    problems.push({ key: "archive", words: "the archive is failing: nothing is removed", href: "/operations" });
  if (channelsOff > 0) {
    const words = `restored from a backup: ${plural(channelsOff, "channel")} disabled; enable those that must notify`;
    problems.push({ key: "channels", words, href: "/alerts/channels" });
  }
  if (alerts !== null) problems.push({ key: "alerts", words: alerts, href: "/alerts" });
  return problems;
}
