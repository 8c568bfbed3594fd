import type { ControlKind } from "@/lib/order/controls/control.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { EventStatus } from "@/lib/states/event-state.pure";

/** Written apart from the product, from what the documents say: a fault that both had would pass. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Days that events of the model are kept, and for which an event stays after something has happened to it. */
export const KEPT_DAYS = 30;
const RECENT_DAYS = 7;

/** Of the model's rule: which events, how long after they were parked, and how often. */
export const RULE = { errorCode: "TIMEOUT", delayMs: 30 * MINUTE_MS, redrivesPerEvent: 2 };
const RULE_REFUSALS_MAX = 5;

/** Deliver redrives that may send an event of the model. */
export const REDRIVE_LIMIT = 4;

/** A control of a person, as the model has imposed it. */
export type ImposedControl = { kind: ControlKind; by: "eventId" | "aggregateId" | "errorCode"; value: string };

/** One event as its rows say it. Epoch milliseconds by the store's clock. */
export type EventFacts = {
  eventId: string;
  status: EventStatus;
  confirmed: boolean;
  errorCode: string;
  aggregateId: string | null;
  version: number | null;
  parkedMs: number;
  redrives: number;
  bounces: number;
  attemptedMs: number;
  redriveMs: number | null;
  coolsUntilMs: number | null;
  /** Everything that has happened to it since it was parked. */
  happenedMs: (number | null)[];
  keptUntilMs: number | null;
  skipped: boolean;
  /** Of redrives that rules asked for. */
  byRules: { state: string; atMs: number }[];
  /** Parkade has blacklisted its aggregate. */
  automatic: boolean;
  nowMs: number;
};

const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::float8`;

export const readFacts = (db: Queryable, sourceId: string): Promise<EventFacts[]> =>
  db.query<EventFacts>(
    `select e.event_id as "eventId", e.status, e.confirmed_at is not null as confirmed, e.error_code as "errorCode",
            e.aggregate_id as "aggregateId", e.version::float8 as version, ${ms("e.first_seen")} as "parkedMs", e.redrives, e.bounces,
            ${ms("e.last_attempt_at")} as "attemptedMs", ${ms("e.redrive_at")} as "redriveMs", ${ms("e.cooldown_until")} as "coolsUntilMs",
            array[${ms("e.redrive_at")}, ${ms("e.confirmed_at")}, ${ms("e.last_attempt_at")},
                  (select max(${ms("v.at")}) from event_revisions v where v.id = e.id),
                  (select max(${ms("n.at")}) from event_bounces n where n.id = e.id)] as "happenedMs",
            (select ${ms("k.kept_until")} from restored_events k where k.id = e.id) as "keptUntilMs",
            exists (select from skipped_heads k where k.id = e.id and k.revision = e.revision and k.bounces = e.bounces) as skipped,
            (select coalesce(json_agg(json_build_object('state', i.state, 'atMs', ${ms("x.at")})), '[]')
               from redrive_items i join redrive_rule_runs x on x.redrive_id = i.redrive_id where i.id = e.id) as "byRules",
            exists (select from controls c join sources s on s.name = c.source
                     where c.origin = 'automatic' and c.lifted_at is null and s.id = e.source_id
                       and c.value = e.aggregate_id) as automatic,
            ${ms("now()")} as "nowMs"
       from dlq_events e where e.source_id = $1 order by e.id`,
    [sourceId],
    { name: "model-facts" },
  );

type IsProcessed = (event: { aggregateId: string | null; version: number | null }) => boolean;

/** What keeps later versions back until somebody decides. */
const holds = ({ status, skipped }: EventFacts) => (status === "PENDING" || status === "IGNORED") && !skipped;
const isBefore = (earlier: EventFacts, later: EventFacts) =>
  earlier.aggregateId !== null &&
  earlier.aggregateId === later.aggregateId &&
  earlier.version !== null &&
  later.version !== null &&
  earlier.version < later.version;

/**
 * The events that expire: old, at rest for a week, and decided or never looked at. One that holds later versions back stays, unless
 * these expire with it.
 */
export function expiring(facts: readonly EventFacts[], isProcessed: IsProcessed): Set<string> {
  const going = facts.filter((event) => {
    const { status, confirmed, parkedMs, happenedMs, keptUntilMs, nowMs } = event;
    if (status === "QUEUED" || (status === "REDRIVEN" && !confirmed)) return false;
    if (parkedMs >= Math.floor(nowMs / DAY_MS) * DAY_MS - KEPT_DAYS * DAY_MS) return false;
    if (keptUntilMs !== null && keptUntilMs > nowMs) return false;
    return happenedMs.every((atMs) => atMs === null || atMs <= nowMs - RECENT_DAYS * DAY_MS);
  });
  const stays = (event: EventFacts) =>
    (event.status === "PENDING" || event.status === "QUEUED") && !going.includes(event);
  const isHolding = (event: EventFacts) =>
    holds(event) && !isProcessed(event) && facts.some((later) => isBefore(event, later) && stays(later));
  return new Set(going.filter((event) => !isHolding(event)).map(({ eventId }) => eventId));
}

/** What controls say about an event. */
export function ruling(event: EventFacts, controls: Iterable<ImposedControl>) {
  const over = [...controls].filter(({ by, value }) => event[by] === value);
  const has = (kind: ControlKind) => over.some((control) => control.kind === kind);
  const allowed = has("whitelist");
  const cools = event.coolsUntilMs !== null && event.coolsUntilMs > event.nowMs;
  return {
    blacklisted: has("blacklist") || (event.automatic && !allowed),
    cooling: (has("cooldown") || cools) && !allowed,
    exhausted: event.redrives >= REDRIVE_LIMIT && !allowed,
  };
}

/** The events that a round of the model's rule redrives, while no redrive of it is under way. */
export function takenByRule(
  facts: readonly EventFacts[],
  controls: readonly ImposedControl[],
  isProcessed: IsProcessed,
): string[] {
  const due = facts.filter((event) => {
    const { status, errorCode, parkedMs, redrives, bounces, attemptedMs, redriveMs, byRules, nowMs } = event;
    if (status !== "PENDING" || errorCode !== RULE.errorCode) return false;
    const { blacklisted, cooling, exhausted } = ruling(event, controls);
    if (blacklisted || cooling || exhausted) return false;
    const refusals = byRules.filter(({ state }) => state === "refused").length;
    if (refusals >= RULE_REFUSALS_MAX || byRules.length - refusals >= RULE.redrivesPerEvent) return false;
    const isAsParked = redrives === 0 && bounces === 0;
    const sinceMs = isAsParked ? parkedMs : Math.max(parkedMs, redriveMs ?? 0, Math.min(attemptedMs, nowMs));
    return Math.max(sinceMs, ...byRules.map(({ atMs }) => atMs)) + RULE.delayMs <= nowMs;
  });
  const isHeld = (event: EventFacts) =>
    facts.some((other) => isBefore(other, event) && holds(other) && !isProcessed(other) && !due.includes(other));
  return due.filter((event) => !isHeld(event)).map(({ eventId }) => eventId);
}
