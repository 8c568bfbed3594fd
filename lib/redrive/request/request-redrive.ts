import { auditRedrive } from "@/lib/guard/audit/audit.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { answerOnce, type IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import { plural } from "@/lib/platform/plain/format.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { insertRedrive, type NewRedrive } from "@/lib/redrive/life/redrive.write";
import { enqueueStarted, startOrFinish } from "@/lib/redrive/life/start-redrive";
import { assertPace } from "@/lib/redrive/pace/assert-pace";
import { CANARY_ABOVE, stepAfter } from "@/lib/redrive/pace/canary.pure";
import { FREEZE_INLINE_MAX, freezeChunk, wantedAggregates } from "@/lib/redrive/plan/freeze-chunk";
import { planSelection, type SelectedForRedrive } from "@/lib/redrive/plan/plan-selection";
import { sliceCount } from "@/lib/redrive/plan/redrive-plan.pure";
import { previewRedrive } from "@/lib/redrive/preview/preview-redrive";
import {
  type Brake,
  brakeSchema,
  type Canary,
  canarySchema,
  type RedriveAnswer,
  type RedriveRequest,
} from "@/lib/redrive/request/redrive-request.shapes";
import { policiesInForce } from "@/lib/redrive/targets/policies";
import {
  type Candidate,
  countChangedSince,
  countUpTo,
  cutoffOf,
  estimateCandidates,
  ofPassed,
} from "@/lib/selection/candidates.read";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";
import { setOperationChannels } from "@/lib/selection/operations/operation-channels.write";
import { readEarlierVersions } from "@/lib/selection/outside-order.read";
import { readScopedSelection } from "@/lib/selection/scope.read";
import { askedSelection, sourcesOf } from "@/lib/selection/scope.shapes";
import { selectEvents } from "@/lib/selection/select-events";
import type { Selection } from "@/lib/selection/selection.shapes";
import { assertSameKind, redriveTarget, unknownTarget } from "@/lib/sources/targets/redrive-target";
import { holdTarget } from "@/lib/sources/targets/targets.read";
import { BREAKER_WAIT_MS, START_AHEAD_MS_MAX } from "@/lib/states/redrive-wait.pure";
import type { Refusal } from "@/lib/states/refusal.pure";

export { FREEZE_INLINE_MAX };

/**
 * Freezes a selection into a new redrive and adds its jobs to the queue. ONE transaction: items, events QUEUED,
 * redrive, audit, and the answer under the Idempotency-Key, so that a repeated request gets the same answer and nothing
 * is frozen twice. Throws DomainError: `empty-selection`, `unknown-event`, `invalid-filter`, `unsupported-filter`, `idempotency-key-reused`,
 * `unknown-target`, `invalid-request` for a target of another kind than the events, `above-ceiling`.
 */
export async function requestRedrive(
  deps: Deps,
  input: {
    request: RedriveRequest;
    idempotency: IdempotentRequest | null;
    /** Runs at the end of the transaction that stores the redrive; what it throws undoes the request. */
    claim?: (tx: Tx, redriveId: string) => Promise<void>;
  },
  viewer: Viewer,
): Promise<RedriveAnswer> {
  const selection = await readScopedSelection(deps.db, viewer, "redrive", input.request.select);
  const nowMs = deps.clock.wallMs();
  const despite = input.request.despite ?? [];
  const selected = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), despite };
  const sendsOfLarge = await countSendsOfLarge(deps, input.request, selected, viewer);
  const stranded = input.request.earlier === "pass" ? await countStranded(deps, selected) : undefined;
  let slices: number[] | null = null;
  const freeze = async (tx: Tx) => {
    slices = null;
    // Read once: the events that were counted are the events that are frozen.
    const { candidates, missing } = await selectEvents(tx, selected, FREEZE_INLINE_MAX);
    const named = candidates.length;
    const passed = ofPassed(selection);
    const changed = passed !== null && named <= FREEZE_INLINE_MAX ? await countChangedSince(tx, passed) : 0;
    const size = named + (await countTakenAlong(tx, input.request, { selected, candidates }));
    // Earlier versions that are taken along are of the same aggregates, so of the same sources.
    const sources =
      size > FREEZE_INLINE_MAX ? sourcesOf(selection) : [...new Set(candidates.map(({ source }) => source))];
    const target = await targetOf(tx, viewer, input.request.target, sources);
    const facts = { actor: viewer.name, nowMs, size, stranded, sources, target };
    const redrive = await newRedrive(tx, input.request, selected, facts);
    const frozen =
      size > FREEZE_INLINE_MAX ? leaveToWorker(redrive) : await freezeNow(tx, redrive, { selected, candidates, nowMs });
    if (input.request.mode === "deliver") {
      const { total, refused } = frozen.answer;
      await assertReason(tx, input.request, selected, total === null ? sendsOfLarge : total - refused);
      await assertPace(tx, redrive.id, "ratePerSecond", input.request.ratePerSecond);
    }
    const { tell } = input.request;
    if (tell && tell.length > 0) await setOperationChannels(tx, redrive.id, tell, { viewer, atMs: nowMs });
    // Last: what counts a bounce locks events before it locks the rule of their redrive, and so does this transaction.
    await input.claim?.(tx, redrive.id);
    countLeftOut(frozen.answer, { "not-found": missing, "changed-since": changed });
    slices = frozen.slices;
    return frozen.answer;
  };
  // A mend locks the same events, in another order.
  const { answer } = await inTransaction(deps.db, (tx) => answerOnce(tx, input.idempotency, nowMs, () => freeze(tx)));
  // The jobs of a held redrive wait in the queue; one that starts too early finds nothing to send, and is enqueued again for the end of the hold.
  if (slices) await enqueueStarted(deps, answer.id, { slices, delayMs: input.request.holdMs });
  return answer;
}

/** The named target, held: nobody removes it before this transaction has stored the redrive. */
async function targetOf(
  tx: Tx,
  viewer: Viewer,
  name: string | null | undefined,
  sources: readonly string[] | null,
): Promise<NewRedrive["target"]> {
  const target = await redriveTarget(tx, viewer, name);
  if (target === null) return null;
  if (!(await holdTarget(tx, target.id))) throw unknownTarget(target.name, "target");
  await assertSameKind(tx, target, sources);
  return { id: target.id, name: target.name };
}

/** The earlier versions that a `pass` redrive leaves parked, for its audit entry. `bounded`: a lower bound. */
type Stranded = { count: number; bounded: boolean; sample: string[] };

const STRANDED_TIMEOUT_MS = 3_000;
const STRANDED_SAMPLE_MAX = 10;

/** null = not counted within the time limit; the redrive starts all the same. */
async function countStranded(deps: Deps, selected: SelectedForRedrive): Promise<Stranded | null> {
  try {
    const { earlier } = await deps.db.transaction((tx) => planSelection(tx, selected, "pass"), {
      statementTimeoutMs: STRANDED_TIMEOUT_MS,
      readOnly: true,
    });
    const sample = earlier.samples.flatMap(({ behind }) => behind.map(({ id }) => id)).slice(0, STRANDED_SAMPLE_MAX);
    return { count: earlier.earlierEvents, bounded: earlier.bounded, sample };
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}

/**
 * The number of earlier versions that a redrive takes along, before any gate and as far as it matters: the total decides
 * whether the request or the worker freezes it.
 */
async function countTakenAlong(
  tx: Tx,
  { earlier }: RedriveRequest,
  { selected, candidates }: { selected: SelectedForRedrive; candidates: readonly Candidate[] },
): Promise<number> {
  const limit = FREEZE_INLINE_MAX + 1 - candidates.length;
  if (earlier !== "include" || limit <= 0) return 0;
  const wanted = wantedAggregates(
    candidates.filter(({ status }) => status === "PENDING").map((candidate) => ({ candidate, refusal: null })),
  );
  return (await readEarlierVersions(tx, wanted, { ...selected, redriveId: null, above: null, limit })).length;
}

/** `slices`: those with open items; null = the queue needs no job. */
type Frozen = { answer: RedriveAnswer; slices: number[] | null };
type StartedRedrive = NewRedrive & { holdUntil: string | null };

async function newRedrive(
  tx: Tx,
  request: RedriveRequest,
  selected: SelectedForRedrive,
  facts: {
    actor: string;
    nowMs: number;
    size: number;
    stranded?: Stranded | null | undefined;
    sources: string[] | null;
    target: NewRedrive["target"];
  },
): Promise<StartedRedrive> {
  const { actor, nowMs, size, stranded, sources, target } = facts;
  const expected = size > FREEZE_INLINE_MAX ? await estimateCandidates(tx, selected, size) : size;
  const deliver = request.mode === "deliver";
  const asked = request.canary === "auto" ? expected > CANARY_ABOVE : request.canary;
  const canary = deliver ? await canaryOf(tx, asked) : null;
  const brake = deliver ? brakeOf(request.brake, canary) : null;
  const redrive: NewRedrive = {
    id: uuidv7(nowMs),
    state: size > FREEZE_INLINE_MAX ? "PLANNING" : "PLANNED",
    mode: request.mode,
    lane: request.lane,
    target,
    ratePerSecond: request.ratePerSecond ?? null,
    selection: {
      ...(size > FREEZE_INLINE_MAX ? selected.selection : askedSelection(selected.selection)),
      asOfMs: nowMs,
    },
    sources,
    cutoff: selected.cutoff,
    slices: sliceCount(expected),
    canary,
    released: canary ? stepAfter(0, canary) : null,
    brake,
    policies: await policiesInForce(tx),
    earlier: request.earlier ?? "hold",
    despite: [...selected.despite],
    createdBy: actor,
    reason: request.reason ?? (await clickedReason(tx, request)),
    atMs: nowMs,
    holdMs: request.holdMs ?? 0,
    ...laterOf(request, nowMs),
  };
  const holdUntil = await insertRedrive(tx, redrive);
  await auditRequest(tx, redrive, stranded);
  return { ...redrive, holdUntil };
}

/** The times at which it may start. Throws DomainError `invalid-request` for a time that is past or too far ahead. */
function laterOf({ startAt, startWhen }: RedriveRequest, nowMs: number) {
  const startAtMs = startAt === undefined ? null : ahead("startAt", startAt, nowMs, nowMs);
  const firstMs = startAtMs ?? nowMs;
  if (startWhen === undefined) return { startAtMs, breakerUntilMs: null };
  const { until } = startWhen;
  const untilMs = until === undefined ? firstMs + BREAKER_WAIT_MS : ahead("startWhen.until", until, nowMs, firstMs);
  return { startAtMs, breakerUntilMs: untilMs };
}

function ahead(field: string, time: string, nowMs: number, afterMs: number): number {
  const ms = Date.parse(time);
  const clock = `it is ${iso(nowMs)} by the server's clock`;
  const days = START_AHEAD_MS_MAX / 86_400_000;
  const fault =
    ms <= afterMs
      ? `must be after ${afterMs === nowMs ? "now" : "startAt"}: ${clock}`
      : ms > nowMs + START_AHEAD_MS_MAX
        ? `must be within ${days} days: ${clock}`
        : null;
  if (fault === null) return ms;
  throw new DomainError("invalid-request", `${field} ${fault}`, { fields: [{ field, detail: fault }] });
}

async function auditRequest(tx: Tx, redrive: NewRedrive, stranded: Stranded | null | undefined): Promise<void> {
  const { id, createdBy, reason, mode, lane, target, ratePerSecond, canary, brake, earlier, despite, holdMs, atMs } =
    redrive;
  const { startAtMs, breakerUntilMs } = redrive;
  await auditRedrive(tx, id, {
    actor: createdBy,
    action: "redrive.requested",
    reason,
    after: {
      mode,
      lane,
      ratePerSecond,
      canary,
      brake,
      earlier,
      ...(target === null ? {} : { target: target.name }),
      ...(despite.length === 0 ? {} : { despite }),
      ...(stranded === undefined ? {} : { stranded }),
      ...(holdMs ? { holdMs } : {}),
      ...(startAtMs === null ? {} : { startAt: iso(startAtMs) }),
      ...(breakerUntilMs === null ? {} : { breakerCloses: true, until: iso(breakerUntilMs) }),
    },
    atMs,
  });
}

/**
 * The number of events that a redrive without a reason would send, as its preview counts them, if it is too large for the request
 * to freeze. null = unknown, or the request freezes it.
 */
async function countSendsOfLarge(
  deps: Deps,
  request: RedriveRequest,
  selected: SelectedForRedrive,
  viewer: Viewer,
): Promise<number | null> {
  if (request.reason !== undefined || request.mode === "verify") return null;
  if ((await countUpTo(deps.db, selected, FREEZE_INLINE_MAX + 1)) <= FREEZE_INLINE_MAX) return null;
  const { select, mode, lane, target, earlier, despite } = request;
  const preview = await previewRedrive(deps, { select, mode, lane, target, earlier, despite, sample: false }, viewer);
  return preview.eligible;
}

/**
 * Throws DomainError `invalid-request` for a redrive without a reason that sends more than the setting allows. `sends` null = it is not
 * known: then all that are selected count.
 */
async function assertReason(tx: Tx, request: RedriveRequest, selected: SelectedForRedrive, sends: number | null) {
  if (request.reason !== undefined) return;
  const { reasonRequiredAbove: most } = await readSettings(tx);
  if ((sends ?? (await countUpTo(tx, selected, most + 1))) <= most) return;
  const detail = `say why: a redrive of more than ${most} events needs a reason`;
  throw new DomainError("invalid-request", `reason: ${detail}`, { fields: [{ field: "reason", detail }] });
}

/** The reason of a redrive that was requested without one: what was selected. */
async function clickedReason(tx: Tx, { select, mode }: RedriveRequest): Promise<string> {
  const what = mode === "verify" ? "Dry run" : "Redrive";
  return `${what} of ${await selectedWords(tx, select)}`.slice(0, 2_000);
}

async function selectedWords(tx: Tx, select: Selection): Promise<string> {
  if ("ids" in select) return plural(select.ids.length, "selected event");
  if ("operation" in select) return `events from the bulk change ${select.operation}`;
  if ("redrive" in select) return `events that ${select.outcome.join(" or ")} in the redrive ${select.redrive}`;
  const { fingerprint, ...rest } = select.filter;
  const [group] =
    fingerprint?.length === 1
      ? await tx.query<{ code: string }>("select error_code as code from dlq_groups where fingerprint = $1", [
          fingerprint[0],
        ])
      : [];
  const terms = [...toSearchParams(group ? rest : select.filter)].map(([name, value]) => `${name}:${value}`);
  // A hash names a group to nobody. Its message may hold what is masked.
  if (group) return ["a group of", group.code, ...terms.filter((term) => term !== "status:PENDING")].join(" ");
  return terms.length === 0 ? "all that is parked" : `all that match ${terms.join(" ")}`;
}

/** null = none was asked for. */
export async function canaryOf(tx: Tx, asked: Exclude<RedriveRequest["canary"], "auto">): Promise<Canary | null> {
  if (!asked) return null;
  const canary = asked === true ? canarySchema.parse({}) : asked;
  return { ...canary, quietMs: canary.quietMs ?? (await readSettings(tx)).canaryQuietMs };
}

/**
 * Every deliver redrive has a brake, unless the request switches it off. With a canary, the canary's ratio and window
 * are the default.
 */
function brakeOf(asked: RedriveRequest["brake"], canary: Canary | null): Brake | null {
  if (asked === null || asked === false) return null;
  // A window that holds fewer outcomes than the sample needs would never decide.
  if (asked !== undefined && asked !== true) return { ...asked, window: Math.max(asked.window, asked.minSample) };
  const initial = brakeSchema.parse({});
  if (canary === null) return initial;
  return { ...initial, ratio: canary.stopAtFailureRatio, window: Math.max(canary.window, initial.minSample) };
}

/** Events that were not selected are only in the answer: the manifest has no rows for them. */
function countLeftOut(answer: RedriveAnswer, counts: Partial<Record<Refusal, number>>): void {
  const leftOut = Object.entries(counts).filter(([, count]) => count > 0);
  answer.refused += leftOut.reduce((sum, [, count]) => sum + count, 0);
  answer.refusedByReason = { ...answer.refusedByReason, ...Object.fromEntries(leftOut) };
}

function leaveToWorker({ id, state, holdUntil }: StartedRedrive): Frozen {
  const answer = { id, state, total: null, refused: 0, refusedByReason: {}, holdUntil, waitsFor: [] };
  return { answer, slices: [] };
}

async function freezeNow(
  tx: Tx,
  redrive: StartedRedrive,
  { selected, candidates, nowMs }: { selected: SelectedForRedrive; candidates: readonly Candidate[]; nowMs: number },
): Promise<Frozen> {
  const target = { ...redrive, ...selected, actor: redrive.createdBy };
  const ids = candidates.map(({ id }) => id);
  const frozen = await freezeChunk(tx, target, ids, nowMs);
  const { state, waitsFor } = await startOrFinish(tx, redrive.id, nowMs);
  const refused = frozen.total - frozen.open;
  const { id, holdUntil } = redrive;
  const answer = { id, state, total: frozen.total, refused, refusedByReason: frozen.refused, holdUntil, waitsFor };
  return { answer, slices: state === "RUNNING" ? frozen.slices : null };
}
