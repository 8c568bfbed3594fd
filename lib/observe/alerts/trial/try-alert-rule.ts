import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { readAlertFacts } from "@/lib/observe/alerts/facts/alert-facts.read";
import { readBrokenContracts } from "@/lib/observe/alerts/facts/broken-contracts";
import { judge } from "@/lib/observe/alerts/findings.pure";
import { type AlertKind, sourcesOf } from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { AlertTrialOut, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { type AlertRuleDeps, assertCanFire } from "@/lib/observe/alerts/rules/change-alert-rule";
import { readPastFacts, trialSpan } from "@/lib/observe/alerts/trial/past-facts.read";
import { readPastGroups } from "@/lib/observe/alerts/trial/past-groups.read";
import { type Trial, tryRule } from "@/lib/observe/alerts/trial/trial.pure";
import { splitMutes } from "@/lib/observe/mutes/end-mutes.write";
import { readOpenMutes } from "@/lib/observe/mutes/group-mutes.read";
import type { Log } from "@/lib/platform/log";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";

const LISTED_MAX = 100;

const NO_PAST: Partial<Record<AlertKind, string>> = {
  breaker: "Workers say how a breaker is now; no past of it is kept",
  healing: "Workers say how much they slow down now; no past of it is kept",
  source: "Workers say how a source is read now; no past of it is kept",
  contract: "A contract is checked against what is measured now; no past of it is kept",
  audit: "The finding that stands is looked at; earlier ones are not tried",
  storage: "The room is measured now; no past of it is kept",
  "redrive-still": "Whether a redrive stands still is known while it runs; no past of it is kept",
};

/**
 * What a rule would have done in the days before, and what holds now, judged by the functions of an evaluation. Nothing is
 * stored. Throws DomainError `forbidden`, `invalid-config`.
 */
export async function tryAlertRule(
  deps: AlertRuleDeps & { log: Log },
  watch: AlertWatch,
  viewer: Viewer,
): Promise<AlertTrialOut> {
  assertMay(viewer, "change-alert", sourcesOf(watch) ?? "all");
  await assertCanFire(deps, watch, viewer);
  const { db, clock, log } = deps;
  const nowMs = clock.wallMs();
  const span = trialSpan(watch, nowMs);
  const note = (error: unknown, part: string) => log.warn({ err: error, part }, "a trial has no facts");
  const present = judge(
    watch,
    await readAlertFacts(
      db,
      {
        bodies: [watch],
        watched: [],
        muted: splitMutes(await readOpenMutes(db)).inForce,
        nowMs,
        contracts: () => readBrokenContracts(db, nowMs),
      },
      note,
    ),
    new Set(),
  );
  const past: Trial =
    watch.kind === "new-group" || watch.kind === "group-back"
      ? { periods: await readPastGroups(db, watch, span.fromMs), points: new Map(), fault: null }
      : tryRule(watch, await readPastFacts(db, watch, span));
  const shown = seriesOf(past);
  return {
    from: iso(span.fromMs),
    to: iso(span.toMs),
    stepMs: span.stepMs,
    noPast: NO_PAST[watch.kind] ?? null,
    fired: past.periods.slice(-LISTED_MAX).map(({ fromMs, toMs, ...period }) => ({
      ...period,
      from: iso(fromMs),
      to: isoOrNull(toMs),
    })),
    moreFired: Math.max(0, past.periods.length - LISTED_MAX),
    series: {
      key: shown,
      points: (shown === null ? [] : past.points.get(shown)!).map(({ atMs, ...point }) => ({
        at: iso(atMs),
        ...point,
      })),
    },
    now:
      "findings" in present
        ? present.findings
            .filter(({ holds }) => holds)
            .slice(0, LISTED_MAX)
            .map(({ key, sentence }) => ({ key, sentence }))
        : [],
    fault: "fault" in present ? present.fault : past.fault,
  };
}

/** The one that would have fired most often, else the one with the most points; null = there is none. */
function seriesOf({ periods, points }: Trial): string | null {
  const fired = Map.groupBy(periods, ({ key }) => key);
  const count = (key: string) => fired.get(key)?.length ?? 0;
  const peak = (key: string) => Math.max(0, ...points.get(key)!.map(({ value }) => value ?? 0));
  const [first] = [...points.keys()].sort((left, right) => count(right) - count(left) || peak(right) - peak(left));
  return first ?? null;
}
