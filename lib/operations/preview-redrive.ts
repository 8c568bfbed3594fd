import type { EarlierOut, PreviewOut, PreviewRequest } from "@/lib/contract/redrive-preview";
import { canarySchema } from "@/lib/contract/redrive-request";
import { scopeSelection } from "@/lib/contract/scope";
import { type ApprovalCause, approvalCauses } from "@/lib/core/approval";
import type { GateRuling } from "@/lib/core/gate";
import { iso } from "@/lib/core/iso-time";
import type { Earlier } from "@/lib/core/order-gate";
import { DomainError } from "@/lib/core/problem";
import {
  canaryAhead,
  effectiveRate,
  type LanePaces,
  pacesOf,
  redriveTimeMs,
  type TargetPace,
} from "@/lib/core/redrive-rate";
import type { Refusal } from "@/lib/core/refusal";
import type { Viewer } from "@/lib/core/viewer";
import type { Deps } from "@/lib/operations/deps";
import {
  findEarlier,
  type JudgedSelection,
  judgeSelection,
  type PlannedSelection,
  planSelection,
  type SelectedForRedrive,
} from "@/lib/operations/judge-selection";
import { assertSameKind, redriveTarget } from "@/lib/operations/redrive-target";
import { type SampleDeps, sampleDryRun } from "@/lib/operations/sample-dry-run";
import { countChangedSince, cutoffOf } from "@/lib/store/read/candidates";
import type { EarlierSummary, HeldGroup } from "@/lib/store/read/earlier-summary";
import { readSettings } from "@/lib/store/read/settings";
import { readPaces } from "@/lib/store/read/targets";
import { markedPlacesOfSources } from "@/lib/store/write/approvals";

/** A preview that needs longer answers "unknown" and does not delay the redrive: the freeze is exact anyway. */
const PREVIEW_TIMEOUT_MS = 4_000;
const READ_ONLY = { statementTimeoutMs: PREVIEW_TIMEOUT_MS, readOnly: true };
/** Time to count the events behind earlier versions; after it the preview says that the count is not known. */
const EARLIER_TIMEOUT_MS = 3_000;

/** Without `sample` no event is examined. */
export type PreviewDeps = Deps & { sample?: Pick<SampleDeps, "checkPayloads" | "askOwner" | "probe"> };

/**
 * Previews a redrive of this selection: the number of events, by error code, the refused ones by reason, the time at
 * the set rate, and the dry run of some events. It counts with the same gate as the freeze. Throws DomainError
 * `invalid-filter`, `unknown-target`, `invalid-request` for a target of another kind than the events.
 */
export async function previewRedrive(deps: PreviewDeps, request: PreviewRequest, viewer: Viewer): Promise<PreviewOut> {
  const selection = scopeSelection(viewer, "redrive", request.select);
  const nowMs = deps.clock.wallMs();
  const despite = request.despite ?? [];
  const selected = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), despite };
  const [paces, { canaryQuietMs, reasonRequiredAbove, approvalAbove }, target] = await Promise.all([
    readPaces(deps.db, viewer),
    readSettings(deps.db),
    redriveTarget(deps.db, viewer, request.target),
  ]);
  const asked = request.ratePerSecond ?? null;
  const cutoff = iso(nowMs);
  const sampling =
    request.sample !== false && deps.sample
      ? sampleDryRun({ ...deps, ...deps.sample }, { ...request, target }, selected)
      : Promise.resolve(null);
  // The count runs meanwhile; if both fail, the failure of the count is thrown.
  sampling.catch(() => undefined);
  try {
    const counted = await count(deps, selected, request.earlier ?? "hold");
    const { bySource, ...shown } = counted;
    if (target !== null) await assertSameKind(deps.db, target, Object.keys(bySource));
    const sources = target === null ? pacesBySource(bySource, paces[request.lane]) : sharesOf(bySource, target);
    return {
      ...shown,
      kind: "exact",
      ratePerSecond: effectiveRate(asked, Object.values(sources)),
      canaryQuietMs,
      etaMs: request.mode === "verify" ? null : previewTimeMs(request, counted.eligible, sources, canaryQuietMs),
      sources,
      sample: await sampling,
      changedSince: "redrive" in selection ? await countChangedSince(deps.db, selection) : null,
      reasonRequiredAbove,
      approvalCauses: await causesOf(deps, request, { ...counted, above: approvalAbove, targetId: target?.id ?? null }),
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
      ratePerSecond: effectiveRate(asked, target === null ? Object.values(paces[request.lane]) : [target]),
      canaryQuietMs,
      etaMs: null,
      sources: {},
      earlier: null,
      sample: await sampling,
      changedSince: null,
      reasonRequiredAbove,
      approvalCauses: request.mode === "verify" ? [] : null,
      cutoff,
    };
  }
}

/** As `askIfNeeded` decides it when the manifest is complete. */
async function causesOf(
  deps: Deps,
  { mode, lane }: PreviewRequest,
  { eligible, bySource, above, targetId }: Counted & { above: number; targetId: string | null },
): Promise<ApprovalCause[]> {
  if (mode === "verify" || eligible === 0) return [];
  const marked = await markedPlacesOfSources(deps.db, Object.keys(bySource), { lane, targetId });
  return approvalCauses({ events: eligible, above, ...marked });
}

function previewTimeMs(
  { ratePerSecond, canary }: PreviewRequest,
  eligible: number,
  sources: PreviewOut["sources"],
  canaryQuietMs: number,
): number | null {
  const targets = Object.values(sources).map(({ eligible: events, ...pace }) => ({ ...pace, events }));
  const rule = canary === true ? canarySchema.parse({}) : canary;
  return redriveTimeMs({
    events: eligible,
    asked: ratePerSecond ?? null,
    targets,
    canary: rule ? canaryAhead(rule.steps, eligible, rule.quietMs ?? canaryQuietMs) : null,
  });
}

/** Each source sends to a target of its own. */
function pacesBySource(bySource: Counted["bySource"], paces: LanePaces): PreviewOut["sources"] {
  const names = Object.keys(bySource);
  const targets = pacesOf(names, paces);
  return Object.fromEntries(
    names.map((name, index) => {
      const { ratePerSecond, warmUpMs } = targets[index]!;
      return [name, { eligible: bySource[name]!, ratePerSecond, warmUpMs }];
    }),
  );
}

/** The sources share the rate of the one target, each by the number of its events. */
function sharesOf(bySource: Counted["bySource"], { ratePerSecond, warmUpMs }: TargetPace): PreviewOut["sources"] {
  const all = Object.values(bySource).reduce((sum, eligible) => sum + eligible, 0);
  const shareOf = (eligible: number) => (ratePerSecond === null ? null : (ratePerSecond * eligible) / all);
  return Object.fromEntries(
    Object.entries(bySource).map(([name, eligible]) => [
      name,
      { eligible, ratePerSecond: shareOf(eligible), warmUpMs },
    ]),
  );
}

type Counted = Pick<PreviewOut, "byErrorCode" | "refused" | "earlier"> & {
  total: number;
  eligible: number;
  /** Eligible events by source name. */
  bySource: Record<string, number>;
};

async function count(deps: Deps, selected: SelectedForRedrive, earlier: Earlier): Promise<Counted> {
  const plan = await deps.db.transaction((tx) => planSelection(tx, selected, earlier), READ_ONLY);
  if (plan !== null) return { ...countPlanned(plan), earlier: plan.earlier };
  const judged = await judge(deps, selected);
  const found = await findEarlier(deps.db, selected, judged, EARLIER_TIMEOUT_MS);
  const shown = found && earlierOut(found);
  if (found === null || earlier === "pass") return { ...countJudged(judged), earlier: shown };
  if (earlier === "hold") return { ...holdBack(countJudged(judged), found.held), earlier: shown };
  // With the earlier versions the set is larger: it is counted again by the same gate.
  const taken = { ...selected, also: found.ids };
  const judgedTaken = await judge(deps, taken);
  const stillHeld = await findEarlier(deps.db, taken, judgedTaken, EARLIER_TIMEOUT_MS);
  return { ...holdBack(countJudged(judgedTaken), stillHeld?.held ?? []), earlier: shown };
}

function countPlanned({ planned }: PlannedSelection): Omit<Counted, "earlier"> {
  const counted = { total: 0, eligible: 0, refused: {}, byErrorCode: {}, bySource: {} };
  for (const { candidate, refusal } of planned) add(counted, candidate, refusal, 1);
  return counted;
}

function judge(deps: Deps, selected: SelectedForRedrive): Promise<JudgedSelection> {
  return deps.db.transaction((tx) => judgeSelection(tx, selected), READ_ONLY);
}

function earlierOut({ held: _held, ids: _ids, ...out }: EarlierSummary): EarlierOut {
  return out;
}

function countJudged({ groups, touched }: JudgedSelection): Omit<Counted, "earlier"> {
  const counted = { total: 0, eligible: 0, refused: {}, byErrorCode: {}, bySource: {} };
  for (const { group, ruling } of groups) add(counted, group, refusalOf(ruling), group.count);
  for (const { candidate, ruling } of touched) add(counted, candidate, refusalOf(ruling), 1);
  return counted;
}

/** Counts the events that passed the gate and are behind an earlier version as refused. */
function holdBack(counted: Omit<Counted, "earlier">, held: readonly HeldGroup[]): Omit<Counted, "earlier"> {
  for (const { source, errorCode, count } of held) {
    counted.eligible -= count;
    counted.refused["held-by-head"] = (counted.refused["held-by-head"] ?? 0) + count;
    takeOff(counted.byErrorCode, errorCode, count);
    takeOff(counted.bySource, source, count);
  }
  return counted;
}

function takeOff(counts: Record<string, number>, name: string, count: number): void {
  const left = (counts[name] ?? 0) - count;
  if (left > 0) counts[name] = left;
  else delete counts[name];
}

function add(
  counted: Omit<Counted, "earlier">,
  { errorCode, source }: { errorCode: string; source: string },
  refusal: Refusal | null,
  count: number,
): void {
  counted.total += count;
  if (refusal === null) {
    counted.eligible += count;
    counted.byErrorCode[errorCode] = (counted.byErrorCode[errorCode] ?? 0) + count;
    counted.bySource[source] = (counted.bySource[source] ?? 0) + count;
  } else {
    counted.refused[refusal] = (counted.refused[refusal] ?? 0) + count;
  }
}

function refusalOf(ruling: GateRuling): Refusal | null {
  return ruling.pass ? null : ruling.refusal;
}
