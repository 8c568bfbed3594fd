import { latestApprovals } from "@/lib/guard/approvals/approvals.read";
import type { ApprovalOut } from "@/lib/guard/approvals/approvals.shapes";
import { readTypedTexts, type TypedTexts } from "@/lib/guard/masking/typed-texts.read";
import type { Settings } from "@/lib/guard/settings/settings.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { ofSeenRedrive, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { REDRIVE_FACTS, type RedriveFacts } from "@/lib/redrive/life/redrive.sql";
import {
  closedTargets,
  type LiveFacts,
  OPEN_SOURCES,
  QUIET_S,
  readLiveFacts,
} from "@/lib/redrive/life/stall-facts.read";
import { stallOf } from "@/lib/redrive/life/stalled.pure";
import type { BrakeSeen } from "@/lib/redrive/pace/brake.pure";
import {
  chartBucketMs,
  effectiveRate,
  pacesOf,
  redriveTimeMs,
  TICK_MS,
} from "@/lib/redrive/pace/redrive-estimate.pure";
import type { RedriveList, RedriveOut, RedriveRate } from "@/lib/redrive/redrives.shapes";
import type { Canary } from "@/lib/redrive/request/redrive-request.shapes";
import { channelsOf } from "@/lib/selection/operations/operation-channels.read";
import { askedSelection, type ScopedSelection } from "@/lib/selection/scope.shapes";
import type { TargetPace } from "@/lib/sources/targets/target-pace.pure";
import { type Paces, readPaces } from "@/lib/sources/targets/targets.read";
import { isFinal, openItems, type RedriveState } from "@/lib/states/redrive-state.pure";
import { type Wait, type WaitFacts, waitsOf } from "@/lib/states/redrive-wait.pure";
import { LIVE_REDRIVES, waitsFor } from "@/lib/states/state.sql";
import { unknownRedrive } from "@/lib/states/unknown.pure";

/** The rate shown is taken over this long, seconds; without a send in it a redrive is asked for its cause. */
const RATE_WINDOW_S = QUIET_S;

const COLUMNS = `${REDRIVE_FACTS}, coalesce((select t.name from targets t where t.id = r.target_id), r.target) as target,
  r.brake_seen as "brakeSeen", r.deduplicated, r.waiting_until as "waitingUntilMs", r.pause_reason as "pauseReason",
  r.refused_by_reason as "refusedByReason", r.failed_by_reason as "failedByReason", r.created_at as "createdAtMs",
  r.planned_at as "plannedAtMs", r.started_at as "startedAtMs", r.finished_at as "finishedAtMs", r.hold_until as "holdUntilMs",
  (extract(epoch from greatest(r.hold_until - now(), interval '0')) * 1000)::float8 as "holdLeftMs",
  (select coalesce(sum(t.delivered + t.failed), 0) from redrive_ticks t
    where t.redrive_id = r.id and t.at > now() - interval '${RATE_WINDOW_S} s') as "sentRecently",
  (select (extract(epoch from max(t.at)) * 1000)::float8 from redrive_ticks t where t.redrive_id = r.id and t.delivered > 0)
    as "lastSentMs",
  (select coalesce(sum(t.delivered + t.failed + case when t.at > r.planned_at then t.refused else 0 end), 0)
     from redrive_ticks t
    where t.redrive_id = r.id and t.at > now() - interval '${RATE_WINDOW_S} s') as "decidedRecently",
  ${channelsOf("r.id")} as tell,
  (select array_agg(s.name order by s.name) from sources s where r.state in ${LIVE_REDRIVES} and s.id in ${OPEN_SOURCES})
    as "openSources"`;

type ListedRedrive = RedriveFacts & {
  target: string | null;
  waitingUntilMs: number | null;
  brakeSeen: (BrakeSeen & { ratePerSecond: number; atMs: number }) | null;
  deduplicated: number;
  lastSentMs: number | null;
  pauseReason: string | null;
  refusedByReason: Record<string, number>;
  failedByReason: Record<string, number>;
  createdAtMs: number;
  plannedAtMs: number | null;
  startedAtMs: number | null;
  finishedAtMs: number | null;
  holdUntilMs: number | null;
  holdLeftMs: number | null;
  sentRecently: number;
  decidedRecently: number;
  tell: string[];
  openSources: string[] | null;
};

/** Redrives, newest first; with `waitsFor` those that wait for one of these. */
export async function listRedrives(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { states: readonly RedriveState[] | null; waitsFor: readonly Wait["for"][] | null },
  nowMs: number,
): Promise<RedriveList> {
  const wait = query.waitsFor === null ? "true" : waitsFor(query.waitsFor);
  // In the words of their index: the ended redrives are any number.
  const live = query.states?.every((state) => !isFinal(state)) ? `r.state in ${LIVE_REDRIVES}` : "true";
  const rows = await db.query<ListedRedrive>(
    `select ${COLUMNS} from redrives r
      where ($1::text[] is null or r.state = any($1)) and ($2::uuid is null or r.id < $2) and ${seesRedrive("r", "$4")}
        and ${live} and ${wait}
      order by r.id desc limit $3`,
    [query.states, query.cursor, query.limit + 1, sourceScope(viewer)],
    { name: ["list-redrives", ...(query.waitsFor ?? [])].join("-") },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  return { items: await redrivesOut(db, viewer, page.items, nowMs), nextCursor: page.nextCursor };
}

/** Throws DomainError `unknown-redrive`. */
export async function readRedrive(db: Queryable, viewer: Viewer, id: string, nowMs: number): Promise<RedriveOut> {
  const [row] = await db.query<ListedRedrive>(
    `select ${COLUMNS} from redrives r where r.id = $1 and ${seesRedrive("r", "$2")}`,
    [id, sourceScope(viewer)],
    { name: "read-redrive" },
  );
  if (!row) throw unknownRedrive(id);
  return (await redrivesOut(db, viewer, [row], nowMs))[0]!;
}

async function redrivesOut(db: Queryable, viewer: Viewer, rows: ListedRedrive[], nowMs: number): Promise<RedriveOut[]> {
  const live = rows.filter(({ state }) => !isFinal(state)).map(({ id }) => id);
  const [paces, typed, facts, settings, approvals] = await Promise.all([
    readPaces(db, viewer),
    readTypedTexts(db, viewer),
    readLiveFacts(db, live, nowMs),
    readSettings(db),
    latestApprovals(
      db,
      viewer,
      rows.map(({ id }) => id),
    ),
  ]);
  return rows.map((row) => {
    const [live, approval] = [facts.get(row.id), approvals.get(row.id) ?? null];
    const waits = live && row.state !== "PLANNING" ? waitsOf(waitFacts(row, live, approval, nowMs)) : [];
    const waitsOut = { approval, waitsFor: waits.map((wait) => wait.for) };
    const out = { ...redriveOut(row, { paces, typed }, nowMs), ...unknownOut(row, settings), ...waitsOut };
    const stalled = stalledOut(row, out, { live, waits }, nowMs);
    // It repeats the reason of a stop.
    return { ...out, stalled: stalled && { ...stalled, text: typed.text(stalled.text) } };
  });
}

function waitFacts(row: ListedRedrive, live: LiveFacts, approval: ApprovalOut | null, nowMs: number): WaitFacts {
  const { awaitsApproval, startAtMs, breakerUntilMs } = row;
  const approvalUntilMs = approval?.state === "asked" ? Date.parse(approval.expiresAt) : null;
  return { awaitsApproval, approvalUntilMs, startAtMs, breakerUntilMs, openBreakers: closedTargets(live), nowMs };
}

function stalledOut(
  row: ListedRedrive,
  out: Pick<RedriveOut, "open" | "effectiveRatePerSecond">,
  { live, waits }: { live: LiveFacts | undefined; waits: Wait[] },
  nowMs: number,
): RedriveOut["stalled"] {
  if (!live) return null;
  const stall = stallOf({
    ...live,
    // A dry run continues while a breaker is open: its events are refused.
    breakers: row.mode === "verify" ? [] : live.breakers,
    waits,
    state: row.state,
    open: out.open,
    // A dry run waits for no rate and no breaker, and the ticks do not count its passed events. What was decided since the row was
    // read counts, too.
    decidedRecently: live.quiet ? row.decidedRecently : 1,
    startedMs: row.startedAtMs,
    nowMs,
    pauseReason: row.pauseReason,
    ratePerSecond: out.effectiveRatePerSecond,
    holdUntilMs: (row.holdLeftMs ?? 0) > 0 ? row.holdUntilMs : null,
    canary:
      row.released === null
        ? null
        : { released: row.released, sent: row.delivered - row.bounced, untilMs: row.waitingUntilMs },
  });
  if (!stall) return null;
  const { untilMs, ...shown } = stall;
  return { ...shown, until: isoOrNull(untilMs) };
}

/** Delivered events that are neither confirmed nor back, and when the quiet window of the last of them ends. */
function unknownOut(row: ListedRedrive, { quietWindowMs }: Settings): Pick<RedriveOut, "unknown" | "unknownUntil"> {
  const unknown = Math.max(0, row.delivered - row.confirmed - row.bounced);
  const untilMs = row.lastSentMs === null || unknown === 0 ? null : row.lastSentMs + TICK_MS + quietWindowMs;
  return { unknown, unknownUntil: isoOrNull(untilMs) };
}

/**
 * A redrive that began recently has sent for less than the window: divided by the whole window, its rate would be too
 * low.
 */
function rateWindowS({ startedAtMs }: ListedRedrive, nowMs: number): number {
  const ranS = startedAtMs === null ? RATE_WINDOW_S : (nowMs - startedAtMs) / 1000;
  return Math.min(Math.max(ranS, 1), RATE_WINDOW_S);
}

function redriveOut(
  row: ListedRedrive,
  { paces, typed }: { paces: Paces; typed: TypedTexts },
  nowMs: number,
): Omit<RedriveOut, "stalled" | "unknown" | "unknownUntil" | "approval" | "waitsFor"> {
  // Columns that others are made from are not shown themselves.
  const { sentRecently, decidedRecently: _decided, lastSentMs: _lastSent, awaitsApproval: _awaits, ...told } = row;
  const { createdAtMs, plannedAtMs, startedAtMs, finishedAtMs, holdUntilMs, startAtMs, ...timeless } = told;
  const { targetId, openSources, released, waitingUntilMs, breakerUntilMs, ...shown } = timeless;
  const open = openItems(row);
  const running = row.state === "RUNNING";
  const rateNow = running ? sentRecently / rateWindowS(row, nowMs) : null;
  const targets =
    targetId === null
      ? pacesOf(openSources ?? [], paces[row.lane])
      : pacesOf(openSources ? [targetId] : [], paces.byId);
  const { asOfMs: _asOfMs, ...selection } = row.selection;
  return {
    ...shown,
    effectiveRatePerSecond: openSources ? effectiveRate(row.ratePerSecond, targets) : row.ratePerSecond,
    laneRatePerSecond: effectiveRate(null, targets),
    laneRates: {
      main: targetId === null ? effectiveRate(null, pacesOf(openSources ?? [], paces.main)) : null,
      slow: targetId === null ? effectiveRate(null, pacesOf(openSources ?? [], paces.slow)) : null,
    },
    places: openSources ? targets.reduce((sum, { bulkhead = 0 }) => sum + bulkhead, 0) : null,
    sent: row.delivered - row.deduplicated,
    open,
    canary: row.canary && { ...row.canary, released, waitingUntil: isoOrNull(waitingUntilMs) },
    brakeSeen: row.brakeSeen && seenOut(row.brakeSeen),
    reason: typed.text(row.reason),
    selection: typed.selection(askedSelection(selection as ScopedSelection)),
    createdAt: iso(createdAtMs),
    plannedAt: isoOrNull(plannedAtMs),
    startedAt: isoOrNull(startedAtMs),
    finishedAt: isoOrNull(finishedAtMs),
    holdUntil: isoOrNull(holdUntilMs),
    holdLeftMs: row.holdLeftMs !== null && row.holdLeftMs > 0 && !isFinal(row.state) ? row.holdLeftMs : null,
    startAt: isoOrNull(startAtMs),
    breakerUntil: isoOrNull(breakerUntilMs),
    rateNow,
    etaMs: running && open > 0 ? etaMs(row, open, targets, { rateNow, nowMs }) : null,
  };
}

function seenOut({ atMs, ...seen }: NonNullable<ListedRedrive["brakeSeen"]>): RedriveOut["brakeSeen"] {
  return { at: iso(atMs), ...seen };
}

/** At the measured rate if there is one; before that, and while a canary limits the redrive, at the set rate. */
function etaMs(
  row: ListedRedrive,
  open: number,
  targets: TargetPace[],
  { rateNow, nowMs }: { rateNow: number | null; nowMs: number },
): number | null {
  const { canary, released } = row;
  const measured = released === null && rateNow ? [{ ratePerSecond: rateNow, warmUpMs: 0 }] : null;
  return redriveTimeMs({
    events: open,
    asked: row.ratePerSecond,
    targets: measured ?? targets,
    ranMs: row.startedAtMs === null ? 0 : nowMs - row.startedAtMs,
    holdMs: row.holdLeftMs ?? 0,
    canary: canary !== null && released !== null ? canaryLeft(row, canary, released, nowMs) : null,
  });
}

function canaryLeft(row: ListedRedrive, canary: Canary, released: number, nowMs: number) {
  const { total, refused, cancelled, waitingUntilMs } = row;
  const waitMs = waitingUntilMs === null ? null : Math.max(0, waitingUntilMs - nowMs);
  return { steps: canary.steps, quietMs: canary.quietMs, released, waitMs, total: total - refused - cancelled };
}

/** Sends over time. Wider buckets for a longer run, so that the answer stays small; `foldTicks` keeps what is read small. */
export async function readRedriveRate(db: Queryable, viewer: Viewer, id: string, nowMs: number): Promise<RedriveRate> {
  const scope = sourceScope(viewer);
  const [span] = await db.query<{ first: number | null; last: number | null }>(
    `select min(at) as first, max(at) as last from redrive_ticks where redrive_id = $1 and ${ofSeenRedrive("redrive_id", "$2")}`,
    [id, scope],
  );
  const asOf = iso(nowMs);
  if (!span || span.first === null || span.last === null) return { buckets: [], bucketMs: TICK_MS, asOf };
  const bucketMs = chartBucketMs(span.last - span.first);
  const rows = await db.query<{ at: number; delivered: number; failed: number; refused: number }>(
    `select to_timestamp(floor(extract(epoch from at) * 1000 / $2::float8) * $2::float8 / 1000) as at,
            sum(delivered) as delivered, sum(failed) as failed, sum(refused) as refused
       from redrive_ticks where redrive_id = $1 group by 1 order by 1`,
    [id, bucketMs],
  );
  return { buckets: rows.map((row) => ({ ...row, at: iso(row.at) })), bucketMs, asOf };
}
