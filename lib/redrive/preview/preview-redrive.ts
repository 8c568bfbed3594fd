import { type ApprovalCause, approvalCauses } from "@/lib/guard/approvals/approval.pure";
import { markedPlacesOfSources } from "@/lib/guard/approvals/approvals.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { isReadTimeout } from "@/lib/platform/database/retrying";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import type { DomainError } from "@/lib/platform/plain/problem.pure";
import { isByControl, readRefusingControls } from "@/lib/redrive/list/refusing-controls.read";
import { canaryAhead, effectiveRate, pacesOf, redriveTimeMs } from "@/lib/redrive/pace/redrive-rate.pure";
import type { PlannedItem } from "@/lib/redrive/plan/freeze-events.write";
import {
  type CountedEvents,
  findEarlier,
  type JudgedSelection,
  judgeSelection,
  planSelection,
  type SelectedForRedrive,
} from "@/lib/redrive/plan/judge-selection";
import type { EarlierSummary } from "@/lib/redrive/preview/earlier-summary.read";
import {
  CONTROLLED_MAX,
  type EarlierOut,
  type PreviewOut,
  type PreviewRequest,
  type UnknownPart,
} from "@/lib/redrive/preview/redrive-preview.shapes";
import { type SampleDeps, sampleDryRun } from "@/lib/redrive/preview/sample-dry-run";
import { canarySchema } from "@/lib/redrive/request/redrive-request.shapes";
import { countChangedSince, cutoffOf, ofPassed, readCandidates } from "@/lib/selection/candidates.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";
import { assertSameKind, redriveTarget } from "@/lib/sources/targets/redrive-target";
import type { LanePaces, TargetPace } from "@/lib/sources/targets/target-pace.pure";
import { readPaces, type TargetRow } from "@/lib/sources/targets/targets.read";
import type { Refusal } from "@/lib/states/refusal.pure";

/** A part that needs longer is unknown, and the answer names it; the redrive is not delayed: the freeze is exact anyway. */
const PREVIEW_TIMEOUT_MS = 4_000;
const READ_ONLY = { statementTimeoutMs: PREVIEW_TIMEOUT_MS, readOnly: true };
/** Time to count the events behind earlier versions; after it the preview says that the count is not known. */
const EARLIER_TIMEOUT_MS = 3_000;

/** Without `sample` no event is examined. */
type PreviewDeps = Deps & { sample?: Pick<SampleDeps, "checkPayloads" | "askOwner" | "probe" | "leftOut"> };

/**
 * Previews a redrive of this selection: the number of events, by error code, the refused ones by reason, the time at
 * the set rate, and the dry run of some events. It counts with the same gate as the freeze. Throws DomainError
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
        : await inTime("controls", () => controlsOf(deps, viewer, { selected, refused, plan })),
    sample,
    earlier,
    sources,
    canaryQuietMs,
    reasonRequiredAbove,
    kind: total === null ? "estimated" : "exact",
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
  earlier: "How many events are behind earlier versions was not counted in time",
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
type Counts = Pick<PreviewOut, "sample" | "earlier"> & { counted: Counted; frozen: Counted; plan: Planned };
/** null = the selection was too large to be planned. */
type Planned = readonly PlannedItem[] | null;

async function countAndSample(
  deps: PreviewDeps,
  request: Omit<PreviewRequest, "target"> & { target: TargetRow | null },
  selected: SelectedForRedrive,
  inTime: InTime,
): Promise<Counts> {
  const choice = request.earlier ?? "hold";
  const found = await inTime("total", async () => ({
    plan: await deps.db.transaction((tx) => planSelection(tx, selected, choice), READ_ONLY),
  }));
  const plan = found?.plan ?? null;
  const { sample: checks } = deps;
  const sampling =
    request.sample !== false && checks
      ? inTime("sample", () => sampleDryRun({ ...deps, ...checks }, request, selected, plan?.planned ?? null))
      : Promise.resolve(null);
  // A large selection is counted meanwhile; if both fail, the failure of the count is thrown.
  sampling.catch(() => undefined);
  const large = found !== null && plan === null ? await countLarge(deps, selected, choice, inTime) : null;
  const sampled = await sampling;
  const sample = sampled?.out ?? null;
  if (plan === null) return { counted: UNCOUNTED, frozen: UNCOUNTED, earlier: null, ...large, sample, plan };
  const frozen = tallyPlan(plan.planned);
  const counted = sampled?.refusals ? tallyPlan(plan.planned, sampled.refusals) : frozen;
  return { counted, frozen, sample, earlier: plan.earlier, plan: plan.planned };
}

/**
 * Of a selection that was not planned the newest events are looked at, whether they are refused or not: how many a control refuses is
 * then not known.
 */
async function controlsOf(
  deps: Deps,
  viewer: Viewer,
  { selected, refused, plan }: { selected: SelectedForRedrive; refused: PreviewOut["refused"]; plan: Planned },
): Promise<PreviewOut["controls"]> {
  if (!Object.keys(refused).some(isByControl)) return [];
  return deps.db.transaction(async (tx) => {
    const stopped = plan?.flatMap(({ candidate, refusal }) => (isByControl(refusal) ? [candidate] : []));
    const events = stopped ?? (await readCandidates(tx, { ...selected, after: null, limit: CONTROLLED_MAX }));
    const ids = events.slice(0, CONTROLLED_MAX).map(({ id }) => id);
    const controls = [...(await readRefusingControls(tx, viewer, ids, selected.asOfMs)).values()];
    const whole = stopped !== undefined && stopped.length <= CONTROLLED_MAX;
    return [...Map.groupBy(controls, ({ id }) => id).values()]
      .sort((a, b) => b.length - a.length)
      .map((same) => ({ refuses: whole ? same.length : null, control: same[0]! }));
  }, READ_ONLY);
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

type Counted = Pick<PreviewOut, "byErrorCode" | "refused"> & {
  /** null = not known. */
  total: number | null;
  eligible: number | null;
  /** Eligible events by source name. */
  bySource: Record<string, number>;
};

/** Counted in time. */
type Tally = Counted & { total: number; eligible: number };

const UNCOUNTED: Counted = { total: null, eligible: null, refused: {}, byErrorCode: {}, bySource: {} };

async function countLarge(
  { db }: Deps,
  selected: SelectedForRedrive,
  choice: Earlier,
  inTime: InTime,
): Promise<Omit<Counts, "sample" | "plan">> {
  const judge = (of: SelectedForRedrive) =>
    inTime("total", () => db.transaction((tx) => judgeSelection(tx, of), READ_ONLY));
  const find = (of: SelectedForRedrive, judged: JudgedSelection) =>
    inTime("earlier", () => findEarlier(db, of, judged, EARLIER_TIMEOUT_MS));
  const judged = await judge(selected);
  if (judged === null) return { counted: UNCOUNTED, frozen: UNCOUNTED, earlier: null };
  const found = await find(selected, judged);
  let counted = choice === "pass" ? tally(judged.counts) : withHeld(judged, found);
  if (choice === "include") {
    // With the earlier versions the set is larger: it is counted again by the same gate.
    const taken = { ...selected, also: found?.ids ?? [] };
    const judgedTaken = found && (await judge(taken));
    counted = judgedTaken
      ? withHeld(judgedTaken, await find(taken, judgedTaken))
      : { ...withHeld(judged, null), total: null };
  }
  return { counted, frozen: counted, earlier: found && earlierOut(found) };
}

function earlierOut({ held: _held, ids: _ids, ...out }: EarlierSummary): EarlierOut {
  return out;
}

/** `found` null: what the gate refuses is known; what the order refuses of the rest is not. */
function withHeld({ counts }: JudgedSelection, found: EarlierSummary | null): Counted {
  if (found !== null) return tally([...counts, ...found.held.flatMap(heldBack)]);
  const { refused, total } = tally(counts);
  return { ...UNCOUNTED, refused, total };
}

/** Events that passed the gate and are behind an earlier version count as refused. */
function heldBack({ count, ...of }: EarlierSummary["held"][number]): CountedEvents[] {
  return [
    { ...of, refusal: null, count: -count },
    { ...of, refusal: "held-by-head", count },
  ];
}

/** `refusals`: those of the dry run, by the id of the event. */
function tallyPlan(planned: readonly PlannedItem[], refusals?: ReadonlyMap<string, Refusal>): Tally {
  return tally(
    planned.map(({ candidate: { id, source, errorCode }, refusal }) => {
      return { source, errorCode, refusal: refusal ?? refusals?.get(id) ?? null, count: 1 };
    }),
  );
}

function tally(counts: readonly CountedEvents[]): Tally {
  const counted: Tally = { total: 0, eligible: 0, refused: {}, byErrorCode: {}, bySource: {} };
  for (const { source, errorCode, refusal, count } of counts) {
    counted.total += count;
    if (refusal !== null) addTo(counted.refused, refusal, count);
    else {
      counted.eligible += count;
      addTo(counted.byErrorCode, errorCode, count);
      addTo(counted.bySource, source, count);
    }
  }
  return counted;
}

function addTo(counts: Record<string, number>, name: string, count: number): void {
  const sum = (counts[name] ?? 0) + count;
  if (sum > 0) counts[name] = sum;
  else delete counts[name];
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
