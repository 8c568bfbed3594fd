import { type ApprovalCause, approvalCauses } from "@/lib/guard/approvals/approval.pure";
import { markedPlacesOfSources } from "@/lib/guard/approvals/approvals.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import type { DomainError } from "@/lib/platform/plain/problem.pure";
import { isByControl, readRefusingControls } from "@/lib/redrive/list/refusing-controls.read";
import { canaryAhead, effectiveRate, pacesOf, redriveTimeMs } from "@/lib/redrive/pace/redrive-estimate.pure";
import type { PlannedItem } from "@/lib/redrive/plan/freeze-events.write";
import { planSelection, type SelectedForRedrive, type SelectionPlan } from "@/lib/redrive/plan/plan-selection";
import { estimateOutcomes, type Outcome, type Tally, tally } from "@/lib/redrive/preview/outcomes.pure";
import {
  CONTROLLED_MAX,
  type PreviewOut,
  type PreviewRequest,
  type UnknownPart,
} from "@/lib/redrive/preview/redrive-preview.shapes";
import { type SampleDeps, sampleDryRun } from "@/lib/redrive/preview/sample-dry-run";
import { canarySchema } from "@/lib/redrive/request/redrive-request.shapes";
import {
  type CandidateCount,
  countCandidates,
  countChangedSince,
  cutoffOf,
  ofPassed,
} from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";
import { assertSameKind, redriveTarget } from "@/lib/sources/targets/redrive-target";
import type { LanePaces, TargetPace } from "@/lib/sources/targets/target-pace.pure";
import { readPaces, type TargetRow } from "@/lib/sources/targets/targets.read";
import type { Refusal } from "@/lib/states/refusal.pure";

/** A part that needs longer is unknown, and the answer names it; the redrive is not delayed: the freeze is exact anyway. */
const PREVIEW_TIMEOUT_MS = 4_000;
const READ_ONLY = { statementTimeoutMs: PREVIEW_TIMEOUT_MS, readOnly: true };

/** Without `sample` no event is examined. */
type PreviewDeps = Deps & { sample?: Pick<SampleDeps, "checkPayloads" | "askOwner" | "probe" | "leftOut"> };

/**
 * Previews a redrive of this selection: the number of events, by error code, the refused ones by reason, the time at
 * the set rate, and the dry run of some events. It plans the events as the freeze does, and estimates from PLANNED_MAX of
 * them how a larger selection ends. Throws DomainError
 * `invalid-filter`, `unknown-target`, `invalid-request` for a target of another kind than the events.
 */
export async function previewRedrive(deps: PreviewDeps, request: PreviewRequest, viewer: Viewer): Promise<PreviewOut> {
  const selection = await readScopedSelection(deps.db, viewer, "redrive", request.select);
  const nowMs = deps.clock.wallMs();
  const despite = request.despite ?? [];
  const selected = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), despite };
  const [paces, { canaryQuietMs, reasonRequiredAbove, approvalAbove }, target] = await Promise.all([
    readPaces(deps.db, viewer),
    readSettings(deps.db),
    redriveTarget(deps.db, viewer, request.target),
  ]);
  const unknown: UnknownPart[] = [];
  const inTime = <Part>(part: UnknownPart["part"], read: () => Promise<Part>) => knownInTime(unknown, part, read);
  const counts = await countAndSample(deps, { ...request, target }, selected, inTime);
  const { frozen, sample, earlier, plan } = counts;
  const changedSince =
    "redrive" in selection ? await inTime("changedSince", () => countChangedSince(deps.db, selection)) : null;
  const counted = withUnchecked(counts.counted, selection, changedSince);
  if (target !== null) await assertSameKind(deps.db, target, Object.keys(frozen.bySource));
  const sources =
    target === null ? pacesBySource(counted.bySource, paces[request.lane]) : sharesOf(counted.bySource, target);
  const asked = request.ratePerSecond ?? null;
  const all = target === null ? Object.values(paces[request.lane]) : [target];
  const { total, eligible, refused, byErrorCode } = counted;
  const times = request.mode === "verify" || eligible === null;
  return {
    total,
    eligible,
    refused,
    byErrorCode,
    controls:
      request.sample === false || total === null
        ? null
        : await inTime("controls", () => controlsOf(deps, viewer, { selected, plan })),
    sample,
    earlier,
    sources,
    canaryQuietMs,
    reasonRequiredAbove,
    kind: plan?.whole || (eligible === null && total !== null) ? "exact" : "estimated",
    ratePerSecond: effectiveRate(asked, eligible === null ? all : Object.values(sources)),
    etaMs: times ? null : previewTimeMs(request, eligible, sources, canaryQuietMs),
    changedSince,
    approvalCauses: await causesOf(deps, request, { ...frozen, above: approvalAbove, targetId: target?.id ?? null }),
    unknown,
    cutoff: iso(nowMs),
  };
}

const UNKNOWN: Record<UnknownPart["part"], string> = {
  total: "The events were not counted in time",
  earlier: "Which events can be sent, and which are behind earlier versions, was not found in time",
  sample: "No event was checked: a dry run checks each of them",
  controls: "Which controls refuse events was not found in time",
  changedSince: "Which events have changed since was not found in time",
};

/** null = the store took too long, and `unknown` says so. */
async function knownInTime<Part>(
  unknown: UnknownPart[],
  part: UnknownPart["part"],
  read: () => Promise<Part>,
): Promise<Part | null> {
  try {
    return await read();
  } catch (error) {
    if (!isReadTimeout(error)) throw error;
    unknown.push({ part, detail: `${UNKNOWN[part]}. ${(error as DomainError).message}` });
    return null;
  }
}

type InTime = <Part>(part: UnknownPart["part"], read: () => Promise<Part>) => Promise<Part | null>;

/** `frozen`: what the redrive would freeze to send. `counted`: without what its dry run refuses, when all were checked. */
type Counts = Pick<PreviewOut, "sample" | "earlier"> & {
  counted: Counted;
  frozen: Counted;
  plan: SelectionPlan | null;
};

async function countAndSample(
  deps: PreviewDeps,
  request: Omit<PreviewRequest, "target"> & { target: TargetRow | null },
  selected: SelectedForRedrive,
  inTime: InTime,
): Promise<Counts> {
  const plan = await inTime("earlier", () =>
    deps.db.transaction((tx) => planSelection(tx, selected, request.earlier ?? "hold"), READ_ONLY),
  );
  if (plan === null) {
    const counts = await inTime("total", () => countAll(deps, selected));
    const total = counts?.reduce((sum, { count }) => sum + count, 0) ?? null;
    const counted = { ...UNCOUNTED, total };
    return { counted, frozen: counted, sample: null, earlier: null, plan };
  }
  const { earlier, whole } = plan;
  const planned = [...plan.selected, ...plan.along];
  const { sample: checks } = deps;
  const sampling =
    request.sample !== false && checks
      ? inTime("sample", () => sampleDryRun({ ...deps, ...checks }, request, { selected, planned, whole }))
      : null;
  // A large selection is counted meanwhile; if both fail, the failure of the count is thrown.
  sampling?.catch(() => undefined);
  const counts = whole ? null : await inTime("total", () => countAll(deps, selected));
  const sampled = await sampling;
  const sample = sampled?.out ?? null;
  if (whole) {
    const frozen = tally(outcomesOf(planned));
    const counted = sampled?.refusals ? tally(outcomesOf(planned, sampled.refusals)) : frozen;
    return { counted, frozen, sample, earlier, plan };
  }
  const parts = { planned: outcomesOf(plan.selected), along: outcomesOf(plan.along) };
  const counted = counts === null ? UNCOUNTED : tally(estimateOutcomes(parts, counts));
  return { counted, frozen: counted, sample, earlier, plan };
}

function countAll({ db }: Deps, selected: SelectedForRedrive): Promise<CandidateCount[]> {
  return db.transaction((tx) => countCandidates(tx, selected), READ_ONLY);
}

/** The controls of the planned events that one refuses. */
async function controlsOf(
  deps: Deps,
  viewer: Viewer,
  { selected: { asOfMs }, plan }: { selected: SelectedForRedrive; plan: SelectionPlan | null },
): Promise<PreviewOut["controls"]> {
  if (plan === null) return null;
  const stopped = [...plan.selected, ...plan.along].filter(({ refusal }) => isByControl(refusal));
  if (stopped.length === 0) return [];
  const ids = stopped.slice(0, CONTROLLED_MAX).map(({ candidate: { id } }) => id);
  const controls = await deps.db.transaction((tx) => readRefusingControls(tx, viewer, ids, asOfMs), READ_ONLY);
  const whole = plan.whole && stopped.length <= CONTROLLED_MAX;
  return [...Map.groupBy(controls.values(), ({ id }) => id).values()]
    .sort((a, b) => b.length - a.length)
    .map((same) => ({ refuses: whole ? same.length : null, control: same[0]! }));
}

/** As `askIfNeeded` decides it when the manifest is complete. */
async function causesOf(
  deps: Deps,
  { mode, lane }: PreviewRequest,
  { eligible, bySource, above, targetId }: Counted & { above: number; targetId: string | null },
): Promise<ApprovalCause[] | null> {
  if (mode === "verify" || eligible === 0) return [];
  if (eligible === null) return null;
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

/** null = not known. */
type Counted = Omit<Tally, "total" | "eligible"> & { [Name in "total" | "eligible"]: number | null };

const UNCOUNTED: Counted = { total: null, eligible: null, refused: {}, byErrorCode: {}, bySource: {} };

/** `refusals`: those of the dry run, by the id of the event. */
function outcomesOf(planned: readonly PlannedItem[], refusals?: ReadonlyMap<string, Refusal>): Outcome[] {
  return planned.map(({ candidate: { id, source, errorCode, status }, refusal }) => {
    return { source, errorCode, status, refusal: refusal ?? refusals?.get(id) ?? null, count: 1 };
  });
}

/** Events that passed a dry run and changed since are not selected, and are counted as refused. */
function withUnchecked(counted: Counted, selection: ScopedSelection, changedSince: number | null): Counted {
  if (ofPassed(selection) === null || changedSince === null || changedSince === 0) return counted;
  const { total, refused } = counted;
  return {
    ...counted,
    total: total === null ? null : total + changedSince,
    refused: { ...refused, "changed-since": changedSince },
  };
}
