import { type LiveAlert, nextStep } from "@/lib/observe/alerts/alert-state.pure";
import type { AlertFacts } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Finding } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, alertKindOf, judge } from "@/lib/observe/alerts/kinds/alert-kinds.pure";

/** A time in which an alert would have fired; `toMs` null = it would still fire. Epoch milliseconds. */
export type TrialPeriod = {
  key: string;
  fromMs: number;
  toMs: number | null;
  /** The value furthest beyond the threshold. */
  peak: number | null;
  sentence: string;
};
type TrialPoint = { atMs: number; value: number | null; threshold: number | null };
export type Trial = { periods: TrialPeriod[]; points: Map<string, TrialPoint[]>; fault: string | null };

/**
 * Judges the past as an evaluation judges the present: the same function, one step after the other. `facts` ascend in time.
 */
export function tryRule(watch: AlertWatch, facts: Iterable<AlertFacts>): Trial {
  const live = new Map<string, LiveAlert>();
  const open = new Map<string, TrialPeriod>();
  const trial: Trial = { periods: [], points: new Map(), fault: null };
  for (const step of facts) {
    const firing = new Set([...live].flatMap(([key, { state }]) => (state === "firing" ? [key] : [])));
    const judged = judge(watch, step, firing);
    if ("fault" in judged) return { ...trial, fault: judged.fault };
    const found = new Map(judged.findings.map((finding) => [finding.key, finding]));
    for (const { key, value, threshold } of judged.findings) {
      const points = trial.points.get(key) ?? [];
      points.push({ atMs: step.nowMs, value, threshold });
      trial.points.set(key, points);
    }
    for (const key of new Set([...live.keys(), ...found.keys()])) {
      advance({ watch, trial, live, open }, { key, finding: found.get(key) ?? null, atMs: step.nowMs });
    }
  }
  trial.periods.push(...open.values());
  trial.periods.sort((left, right) => left.fromMs - right.fromMs);
  return trial;
}

type Run = {
  watch: AlertWatch;
  trial: Trial;
  live: Map<string, LiveAlert>;
  open: Map<string, TrialPeriod>;
};

function advance({ watch, trial, live, open }: Run, at: { key: string; finding: Finding | null; atMs: number }): void {
  const { key, finding, atMs } = at;
  const next = nextStep(live.get(key) ?? null, finding?.holds ?? false, watch, atMs);
  const period = open.get(key);
  if (next.to === "pending" || next.to === "firing") {
    live.set(key, { state: next.to, sinceMs: next.sinceMs, clearSinceMs: next.clearSinceMs });
    if (next.fires && finding) {
      open.set(key, { key, fromMs: atMs, toMs: null, peak: finding.value, sentence: finding.sentence });
    } else if (period && finding?.holds && isBeyond(watch, finding.value, period.peak)) {
      open.set(key, { ...period, peak: finding.value, sentence: finding.sentence });
    }
    return;
  }
  live.delete(key);
  if (!period) return;
  open.delete(key);
  trial.periods.push({ ...period, toMs: atMs });
}

function isBeyond({ kind }: AlertWatch, value: number | null, peak: number | null): boolean {
  if (value === null || peak === null) return peak === null;
  return alertKindOf(kind).lessIsWorse ? value < peak : value > peak;
}
