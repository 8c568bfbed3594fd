import type { PreviewOut, PreviewRequest } from "@/lib/contract/redrives";
import { gate } from "@/lib/core/gate";
import { DomainError } from "@/lib/core/problem";
import { effectiveRate, sendTimeMs } from "@/lib/core/redrive-rate";
import type { Deps } from "@/lib/operations/deps";
import { type Rules, readRules } from "@/lib/operations/read-rules";
import { type SampleDeps, sampleDryRun } from "@/lib/operations/sample-dry-run";
import type { Queryable } from "@/lib/store/db";
import {
  type Candidate,
  type CandidateGroup,
  type countUpTo,
  cutoffOf,
  groupCandidates,
  readTouched,
  TOUCHED_MAX,
} from "@/lib/store/read/candidates";
import { readLaneRates } from "@/lib/store/read/targets";

/** A preview that needs longer says "unknown" and does not hold up the redrive: the freeze is exact anyway. */
const PREVIEW_TIMEOUT_MS = 4_000;

/** Without `sample` nothing is examined. */
export type PreviewDeps = Deps & { sample?: Pick<SampleDeps, "checkPayloads" | "probe"> };

/**
 * What a redrive of this selection would do now: how many, by error code, how many refused and why, how long at the set
 * rate; and what the dry run says of some of them. Counts by the same gate as the freeze. Throws DomainError `invalid-filter`.
 */
export async function previewRedrive(deps: PreviewDeps, request: PreviewRequest): Promise<PreviewOut> {
  const nowMs = deps.clock.wallMs();
  const selected = { selection: request.select, asOfMs: nowMs, cutoff: cutoffOf(request.select, nowMs) };
  const rates = await readLaneRates(deps.db, request.lane);
  const asked = request.ratePerSecond ?? null;
  const cutoff = new Date(nowMs).toISOString();
  const sampling =
    request.sample !== false && deps.sample
      ? sampleDryRun({ ...deps, ...deps.sample }, request, selected)
      : Promise.resolve(null);
  // Counted meanwhile; a failure of the count is the one that is told.
  sampling.catch(() => undefined);
  try {
    const counted = await deps.db.transaction((tx) => countBy(tx, selected, nowMs), {
      statementTimeoutMs: PREVIEW_TIMEOUT_MS,
      readOnly: true,
    });
    const { bySource, ...shown } = counted;
    return {
      ...shown,
      kind: "exact",
      ratePerSecond: effectiveRate(asked, Object.keys(bySource), rates),
      etaMs: request.mode === "verify" ? null : sendTimeMs(asked, bySource, rates),
      sources: Object.fromEntries(
        Object.entries(bySource).map(([name, eligible]) => [name, { eligible, ratePerSecond: rates[name] ?? null }]),
      ),
      sample: await sampling,
      cutoff,
    };
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "read-timeout") throw error;
    return {
      total: null,
      kind: "estimated",
      eligible: null,
      refused: {},
      byErrorCode: {},
      ratePerSecond: effectiveRate(asked, Object.keys(rates), rates),
      etaMs: null,
      sources: {},
      sample: await sampling,
      cutoff,
    };
  }
}

type Counted = Pick<PreviewOut, "byErrorCode" | "refused"> & {
  total: number;
  eligible: number;
  /** Eligible events by source name. */
  bySource: Record<string, number>;
};

async function countBy(tx: Queryable, selected: Parameters<typeof countUpTo>[1], nowMs: number): Promise<Counted> {
  const rules = await readRules(tx);
  const touched = await readTouched(tx, selected, rules.controls);
  if (touched.length === TOUCHED_MAX) {
    throw new DomainError("read-timeout", "Too many events stand under their own controls to preview them one by one");
  }
  const groups = await groupCandidates(tx, selected, {
    redriveLimit: rules.settings.redriveLimit,
    touched: touched.map((candidate) => candidate.id),
  });
  const counted: Counted = { total: 0, eligible: 0, refused: {}, byErrorCode: {}, bySource: {} };
  for (const group of groups) add(counted, group, ruleGroup(group, rules, nowMs), group.count);
  for (const candidate of touched) add(counted, candidate, ruleOne(candidate, rules, nowMs), 1);
  return counted;
}

function add(
  counted: Counted,
  { errorCode, source }: { errorCode: string; source: string },
  ruling: ReturnType<typeof gate>,
  count: number,
): void {
  counted.total += count;
  if (ruling.pass) {
    counted.eligible += count;
    counted.byErrorCode[errorCode] = (counted.byErrorCode[errorCode] ?? 0) + count;
    counted.bySource[source] = (counted.bySource[source] ?? 0) + count;
  } else {
    counted.refused[ruling.refusal] = (counted.refused[ruling.refusal] ?? 0) + count;
  }
}

function ruleOne(candidate: Candidate, rules: Rules, nowMs: number) {
  return gate(candidate, { controls: rules.index, redriveLimit: rules.settings.redriveLimit, nowMs, at: "request" });
}

/** The group's members differ in nothing the gate looks at, once events under their own control are taken out. */
function ruleGroup(group: CandidateGroup, rules: Rules, nowMs: number) {
  const facts = {
    ...group,
    eventId: "",
    aggregateType: null,
    aggregateId: null,
    cooldownUntilMs: group.cooling ? Number.POSITIVE_INFINITY : null,
    redrives: group.exhausted ? rules.settings.redriveLimit : 0,
  };
  return gate(facts, { controls: rules.index, redriveLimit: rules.settings.redriveLimit, nowMs, at: "request" });
}
