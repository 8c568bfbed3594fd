import { systemViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { uuidv7LowerBound } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { gate } from "@/lib/redrive/gate/gate.pure";
import { readRulesOver } from "@/lib/redrive/gate/read-rules";
import { readOpenBreakers } from "@/lib/redrive/life/stall-facts.read";
import { stopRule } from "@/lib/redrive/life/stop-rule.write";
import { holdBehindHeads } from "@/lib/redrive/plan/freeze-chunk";
import { redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";
import { isDue, roomOf, stopReason } from "@/lib/rules/redrive-rule.pure";
import { type RuleInForce, readEventPasts, readRedriveRulesInForce } from "@/lib/rules/redrive-rules.read";
import type { RedriveRuleBody } from "@/lib/rules/redrive-rules.shapes";
import { claimRun, noteRound, RunTaken } from "@/lib/rules/redrive-rules.write";
import { type Candidate, cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { readScopedFilter, readScopedSelection } from "@/lib/selection/scope.read";
import { type ScopedFilter, scopeSelection } from "@/lib/selection/scope.shapes";
import { readTargets } from "@/lib/sources/targets/targets.read";

/** Events that are looked at in one statement. */
const PAGE = 2_000;
/** Events that a round looks at for one rule, at most and at least, and for all rules together. */
const RULE_LOOKS = { max: 5 * PAGE, min: PAGE / 2 };
const ROUND_LOOKS = 10 * PAGE;

/**
 * One round of the enabled redrive rules: each asks for one redrive of the events that are due, as `rule:<name>`. A rule
 * whose events fail is switched off. A run is made once, and by the rules as they are when it commits.
 * Returns the number of redrives.
 */
export async function runRedriveRules(deps: Deps): Promise<number> {
  const { revision, rules } = await readRedriveRulesInForce(deps.db);
  // The same for each: a rule at the end of the list must not wait for those above it.
  const looksMax = Math.max(RULE_LOOKS.min, Math.min(RULE_LOOKS.max, Math.floor(ROUND_LOOKS / rules.length)));
  let made = 0;
  for (const [index, rule] of rules.entries()) {
    const above = rules.slice(0, index).flatMap(({ body }) => (body === null ? [] : [body.filter]));
    try {
      if (await runRule(deps, { rule, above, revision, looksMax })) made++;
    } catch (error) {
      if (error instanceof RunTaken) continue;
      deps.log.warn({ rule: rule.name, err: error }, "redrive rule could not be applied, it is tried again");
      const fault = error instanceof DomainError ? error.message : "the worker's log says why";
      if (fault !== rule.fault) await noteRound(deps.db, rule, { lookedTo: rule.lookedTo, fault });
    }
  }
  return made;
}

type Round = {
  rule: RuleInForce;
  /** The filters of the rules above: their events are not this rule's. */
  above: EventFilter[];
  revision: string;
  looksMax: number;
};

/** Whether it asked for a redrive. */
async function runRule(deps: Deps, round: Round): Promise<boolean> {
  const { rule, revision } = round;
  const { body, lastRun } = rule;
  const nowMs = deps.clock.wallMs();
  if (body === null) throw new DomainError("invalid-request", "What is stored is no rule of this version of Parkade");
  const reason = stopReason(rule.outcomes, body.stopAtFailureRatio);
  if (reason !== null) {
    await deps.db.transaction((tx) => stopRule(tx, rule.id, { reason, redriveId: null, atMs: nowMs }));
    return false;
  }
  const room = roomOf(body, { hour: rule.lastHour, day: rule.lastDay });
  if (room === 0) return false;
  if (lastRun !== null && (lastRun.live || lastRun.atMs + body.everyMs > nowMs)) return false;
  const viewer = systemViewer(`rule:${rule.name}`);
  const { ids, lookedTo } = await findDue(deps.db, { ...round, body, room, nowMs, viewer });
  if (ids.length === 0) {
    if (lookedTo !== rule.lookedTo || rule.fault !== null) await noteRound(deps.db, rule, { lookedTo, fault: null });
    return false;
  }
  const request = redriveRequestSchema.parse({
    select: { ids },
    lane: body.lane,
    ratePerSecond: body.ratePerSecond,
    canary: body.canary,
    brake: body.brake,
    reason: `redrive rule ${rule.name}, version ${rule.version}`,
  });
  const facts = { revision, events: ids.length, lookedTo };
  await requestRedrive(
    deps,
    { request, idempotency: null, claim: (tx, redriveId) => claimRun(tx, rule, { ...facts, redriveId }) },
    viewer,
  );
  return true;
}

type Search = Round & { body: RedriveRuleBody; room: number; nowMs: number; viewer: Viewer };
type Found = { ids: string[]; lookedTo: string | null };

/**
 * The next due events behind the place where the last round ended, newest first, at most `room`. At the end of the matching
 * events it begins again: an event that is not due yet is looked at again in each turn.
 */
async function findDue(db: Queryable, search: Search): Promise<Found> {
  const { body, room, nowMs, viewer, looksMax } = search;
  const filter: EventFilter = { ...body.filter, status: ["PENDING"] };
  const { swept, whole } = sweptBy(filter);
  const selection = await readScopedSelection(db, viewer, "redrive", { filter: swept });
  // An id holds the time of its parking: what was parked within the delay is not read.
  const cutoff = body.delayMs === 0 ? cutoffOf(selection, nowMs) : uuidv7LowerBound(nowMs - body.delayMs + 1);
  const closed = body.onlyIf.breakerClosed ? await sourcesWithOpenBreaker(db, body.lane, nowMs) : new Set<string>();
  const found: Found = { ids: [], lookedTo: search.rule.lookedTo };
  for (let looked = 0; looked < looksMax; ) {
    const limit = Math.min(PAGE, looksMax - looked);
    const page = { selection, asOfMs: nowMs, cutoff, after: found.lookedTo, limit };
    const candidates = await readCandidates(db, page);
    const matching = whole
      ? candidates
      : await onlyMatching(db, candidates, await readScopedFilter(db, viewer, filter), nowMs);
    const due = (await dueOf(db, matching, search)).filter(({ sourceId }) => !closed.has(sourceId));
    const taken = due.slice(0, room - found.ids.length);
    looked += limit;
    found.ids.push(...(await withoutHeld(db, taken, search)));
    found.lookedTo =
      taken.length < due.length ? taken.at(-1)!.id : candidates.length < limit ? null : candidates.at(-1)!.id;
    if (found.lookedTo === null || found.ids.length === room) break;
  }
  return found;
}

/** Names of the filter that no kind tells: a page of events with a rare tag would read a whole source. */
const LEFT_OUT = [
  "tags",
  "eventType",
  "aggregateType",
  "failedFrom",
  "failedTo",
  "q",
  "not.tags",
  "not.eventId",
  "not.eventType",
  "not.aggregateId",
  "not.aggregateType",
  "not.traceId",
  "not.admission",
] as const;

/**
 * The part of a filter that the pages are read by, so that a page costs the same whatever the filter; `whole`: it is all of
 * it. Ids are looked up by their indexes.
 */
function sweptBy(filter: EventFilter): { swept: EventFilter; whole: boolean } {
  const swept = { ...filter };
  if (!filter.eventId && !filter.aggregateId && !filter.traceId) {
    for (const name of LEFT_OUT) delete swept[name];
  }
  return { swept, whole: Object.keys(swept).length === Object.keys(filter).length };
}

async function onlyMatching(
  db: Queryable,
  page: readonly Candidate[],
  filter: ScopedFilter,
  nowMs: number,
): Promise<Candidate[]> {
  const matching = await idsMatching(
    db,
    page.map(({ id }) => id),
    [filter],
    nowMs,
  );
  return page.filter(({ id }) => matching.has(id));
}

/** What of a page a redrive of the rule may take now, in its order. */
async function dueOf(db: Queryable, page: readonly Candidate[], search: Search): Promise<Candidate[]> {
  const { body, nowMs } = search;
  if (page.length === 0) return [];
  const rules = await readRulesOver(db, page);
  const { redriveLimit } = rules.settings;
  const passed = page.filter(
    (candidate) => gate(candidate, { controls: rules.index, redriveLimit, nowMs, at: "request", despite: [] }).pass,
  );
  const ids = passed.map(({ id }) => id);
  const pasts = await readEventPasts(db, ids, body.onlyIf.groupSucceeded);
  const due = passed.filter(({ id }) => pasts.has(id) && isDue(pasts.get(id)!, body, nowMs));
  return withoutTaken(db, due, search);
}

/** Without the events of the rules above. */
async function withoutTaken(db: Queryable, due: Candidate[], { above, viewer, nowMs }: Search): Promise<Candidate[]> {
  if (above.length === 0 || due.length === 0) return due;
  const theirs = await idsMatching(
    db,
    due.map(({ id }) => id),
    await Promise.all(above.map((filter) => readScopedFilter(db, viewer, filter))),
    nowMs,
  );
  return due.filter(({ id }) => !theirs.has(id));
}

/** Those of the events that one of the filters matches. */
export async function idsMatching(
  db: Queryable,
  ids: readonly string[],
  filters: readonly ScopedFilter[],
  nowMs: number,
): Promise<Set<string>> {
  const params = paramsFrom(1);
  const named = params.add(ids);
  const any = filters.map((filter) => {
    const compiled = compileFilter(filter, nowMs, { firstParam: params.values.length + 1 });
    for (const value of compiled.values) params.add(value);
    return `(${compiled.where})`;
  });
  const rows = await db.query<{ id: string }>(
    `select e.id from dlq_event_rows e where e.id = any(${named}::uuid[]) and (${any.join(" or ")})`,
    params.values,
  );
  return new Set(rows.map(({ id }) => id));
}

/** The ids without those behind a parked version that this run does not take: their redrive would refuse them. */
async function withoutHeld(db: Queryable, due: Candidate[], { viewer, nowMs }: Search): Promise<string[]> {
  const selection = scopeSelection(viewer, "redrive", { ids: due.map(({ id }) => id) });
  const planned = due.map((candidate) => ({ candidate, refusal: null, detail: null }));
  const page = { earlier: "hold" as const, selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs) };
  return (await holdBehindHeads(db, page, planned)).flatMap(({ candidate, refusal }) =>
    refusal === null ? [candidate.id] : [],
  );
}

/** The sources whose target on the lane takes no sends now. */
async function sourcesWithOpenBreaker(db: Queryable, lane: "main" | "slow", nowMs: number): Promise<Set<string>> {
  const targets = (await readTargets(db)).filter((target) => target.lane === lane);
  const open = new Set((await readOpenBreakers(db, targets, nowMs)).map(({ target }) => target));
  return new Set(targets.flatMap(({ name, sourceId }) => (open.has(name) ? [sourceId] : [])));
}
