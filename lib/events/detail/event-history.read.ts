import {
  type AttemptFacts,
  attemptText,
  auditText,
  controlText,
  verdictText,
} from "@/lib/events/detail/history-text.pure";
import type { HistoryEntry } from "@/lib/events/events.shapes";
import { entriesOfEvents } from "@/lib/guard/audit/subjects.sql";
import type { Control } from "@/lib/order/controls/control.pure";
import { CONTROL_COVERS } from "@/lib/order/controls/control.sql";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { checksOf, type StoredCheck } from "@/lib/redrive/gate/stored-checks.pure";
import { STOPPED } from "@/lib/redrive/list/decided-attempts.read";
import { DEDUPLICATED } from "@/lib/states/item-outcome.sql";

/** Maximum entries of each kind: nobody reads a longer history to its end. */
const ENTRIES_MAX = 200;

type Subject = {
  id: string;
  eventId: string;
  source: string;
  aggregateType: string | null;
  aggregateId: string | null;
  errorCode: string;
};
type Entry = Omit<HistoryEntry, "at"> & { atMs: number };

/** The history of an event, oldest first (audit entries, dry runs, attempts, its controls), and every control that is not lifted. */
export async function readHistory(
  db: Queryable,
  subject: Subject,
): Promise<{ history: HistoryEntry[]; controls: ControlRow[] }> {
  const [controls, ...parts] = await Promise.all([
    readControls(db, subject),
    readAudit(db, subject.id),
    readVerdicts(db, subject.id),
    readAttempts(db, subject.id),
  ]);
  const entries = causesFirst([...parts.flat(), ...controls.flatMap(controlEntries)]).sort(
    (a, b) => a.atMs - b.atMs || ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind),
  );
  return {
    history: entries.map(({ atMs, ...entry }) => ({ at: iso(atMs), ...entry })),
    controls: controls.filter(({ liftedMs }) => liftedMs === null),
  };
}

/**
 * A verdict and an attempt have the store's time, an audit entry has the worker's. The cause of a redrive's end is
 * never shown after the end.
 */
function causesFirst(entries: Entry[]): Entry[] {
  const ends = new Map<string, number>();
  for (const { kind, redriveId, atMs, detail } of entries) {
    if (kind === "state" && redriveId !== null && detail.action !== "event.queued") ends.set(redriveId, atMs);
  }
  return entries.map((entry) => {
    if (entry.redriveId === null || (entry.kind !== "verdict" && entry.kind !== "attempt")) return entry;
    return { ...entry, atMs: Math.min(entry.atMs, ends.get(entry.redriveId) ?? entry.atMs) };
  });
}

/** The order of entries with the same time: causes come before effects. */
const ORDER: HistoryEntry["kind"][] = [
  ...(["parked", "control", "verdict", "attempt", "bounced", "duplicate", "state", "confirmed"] as const),
];

type AuditValues = Record<string, unknown>;
type AuditRow = {
  id: string;
  atMs: number;
  actor: string;
  action: string;
  redriveId: string | null;
  reason: string | null;
  before: AuditValues | null;
  after: AuditValues | null;
};

async function readAudit(db: Queryable, id: string): Promise<Entry[]> {
  const rows = await db.query<AuditRow>(
    `select a.id, a.at as "atMs", a.actor, a.action, a.redrive_id as "redriveId", a.reason, a.before, a.after
       from audit_entries a
      where a.id in (${entriesOfEvents("select $1::uuid")}
                     union all
                     select id from audit_entries where subject_kind = 'event' and subject_id = $1::text)
      order by a.id desc limit ${ENTRIES_MAX}`,
    [id],
    { name: "event-audit" },
  );
  const bounced = rows.some(({ action }) => action === "event.bounced");
  const arrivals = bounced ? await readArrivals(db, id) : new Map<number, Arrived>();
  return rows.map((row) => ({
    atMs: row.atMs,
    kind: kindOf(row.action),
    text: auditText(row.action, row.before ?? {}, row.after ?? {}),
    actor: row.actor,
    reason: row.reason,
    redriveId: row.redriveId,
    auditId: row.id,
    detail: { action: row.action, before: row.before, after: row.after, ...arrivals.get(arrivalOf(row) ?? -1) },
  }));
}

/** What an arrival brought beside bytes; `sent`: the revision that came back with it. */
type Arrived = { sent: number | null; error: { type: string | null; message: string | null; stack: string | null } };

/**
 * The arrivals of an event by number: 0 = the first one, then its bounces. Bounces recorded before `event_bounces` existed are
 * missing, as is the first arrival whose error they overwrote.
 */
async function readArrivals(db: Queryable, id: string): Promise<Map<number, Arrived>> {
  const rows = await db.query<{ bounce: number } & Arrived>(
    `select 0 as bounce, null::int as sent,
            json_build_object('type', error_type, 'message', error_message, 'stack', error_detail) as error
       from dlq_event_bodies where id = $1 and exists (select from event_bounces where id = $1 and bounce = 1)
     union all
     (select bounce, sent, json_build_object('type', error_type, 'message', error_message, 'stack', error_detail)
        from event_bounces where id = $1 order by bounce desc limit ${ENTRIES_MAX})`,
    [id],
    { name: "event-arrivals" },
  );
  return new Map(rows.map(({ bounce, ...arrived }) => [bounce, arrived]));
}

function arrivalOf({ action, after }: AuditRow): number | null {
  if (action === "event.parked") return 0;
  return action === "event.bounced" ? Number(after?.bounces) : null;
}

function kindOf(action: string): HistoryEntry["kind"] {
  if (action === "event.parked") return "parked";
  if (action === "event.bounced") return "bounced";
  return action === "event.confirmed" ? "confirmed" : "state";
}

async function readVerdicts(db: Queryable, id: string): Promise<Entry[]> {
  const rows = await db.query<{ redriveId: string; atMs: number; verdict: StoredCheck[]; result: string | null }>(
    `select i.redrive_id as "redriveId", coalesce(i.finished_at, r.started_at, r.created_at) as "atMs", i.verdict, i.result
       from redrive_items i join redrives r on r.id = i.redrive_id
      where i.id = $1 and i.verdict is not null order by i.redrive_id desc limit ${ENTRIES_MAX}`,
    [id],
    { name: "event-verdicts" },
  );
  return rows.map(({ atMs, redriveId, verdict, result }) => {
    const findings = checksOf(verdict);
    return {
      atMs,
      kind: "verdict",
      text: verdictText(findings),
      actor: null,
      reason: null,
      redriveId,
      auditId: null,
      detail: { findings, result },
    };
  });
}

type AttemptRow = AttemptFacts & {
  redriveId: string;
  openedMs: number;
  closedMs: number | null;
};

async function readAttempts(db: Queryable, id: string): Promise<Entry[]> {
  const rows = await db.query<AttemptRow>(
    `select a.redrive_id as "redriveId", a.attempt, a.state, a.target, a.opened_at as "openedMs", a.closed_at as "closedMs",
            a.latency_ms as "latencyMs", a.code, a.detail, a.revision, ${STOPPED} as stopped,
            coalesce(${DEDUPLICATED}, false) as deduplicated
       from sends a left join redrive_items i on i.redrive_id = a.redrive_id and i.id = a.id
      where a.id = $1 order by a.opened_at desc limit ${ENTRIES_MAX}`,
    [id],
    { name: "event-attempts" },
  );
  return rows.map((row) => ({
    atMs: row.closedMs ?? row.openedMs,
    kind: "attempt",
    text: attemptText(row),
    actor: null,
    reason: null,
    redriveId: row.redriveId,
    auditId: null,
    detail: {
      state: row.state,
      target: row.target,
      latencyMs: row.latencyMs,
      code: row.code,
      revision: row.revision,
      answer: row.detail,
      stopped: row.stopped,
    },
  }));
}

export type ControlRow = Control & {
  reason: string;
  createdBy: string;
  createdMs: number;
  liftedMs: number | null;
  liftedBy: string | null;
  liftReason: string | null;
};

/** Controls of the event and of its aggregate, lifted ones as well, and those on its error code and source that are not lifted. */
function readControls(db: Queryable, subject: Subject): Promise<ControlRow[]> {
  return db.query<ControlRow>(
    `select c.id, c.kind, c.scope, c.value, c.source, nullif(c.aggregate_type, '') as "aggregateType", c.origin,
            c.expires_at as "expiresAtMs", c.reason, c.created_by as "createdBy", c.created_at as "createdMs",
            c.lifted_at as "liftedMs", c.lifted_by as "liftedBy", c.lift_reason as "liftReason"
       from (values ($1::text, $2::text, $3::text, $4::text, $5::text)) as w (event_id, aggregate_type, aggregate_id, error_code, source)
       join controls c on ${CONTROL_COVERS}
      where c.lifted_at is null or c.scope in ('eventId', 'aggregateId')
      order by c.lifted_at is null desc, c.id desc limit ${ENTRIES_MAX}`,
    [subject.eventId, subject.aggregateType, subject.aggregateId, subject.errorCode, subject.source],
    { name: "event-controls" },
  );
}

/** Controls on an error code or a source are not part of the event's history. */
function controlEntries(row: ControlRow): Entry[] {
  if (row.scope === "errorCode" || row.scope === "source") return [];
  const base = { kind: "control" as const, redriveId: null, auditId: null, detail: { controlId: row.id } };
  const text = (lifted: boolean) => controlText(row.kind, row.scope, lifted);
  const imposed = { ...base, atMs: row.createdMs, text: text(false), actor: row.createdBy, reason: row.reason };
  if (row.liftedMs === null) return [imposed];
  return [imposed, { ...base, atMs: row.liftedMs, text: text(true), actor: row.liftedBy, reason: row.liftReason }];
}
