import { type SourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import { CURRENT_BODY, CURRENT_BYTES, NEWEST_ERROR } from "@/lib/events/bodies.read";
import { readHistory } from "@/lib/events/detail/event-history.read";
import { type EventStatus, isParked, PARKED_STATUSES } from "@/lib/events/event-state.pure";
import type {
  AggregateMember,
  AppliedControl,
  BodyOut,
  EventDetail,
  EventOut,
  HeldBehind,
  HeldBy,
  HistoryEntry,
} from "@/lib/events/events.shapes";
import { EVENT_COLUMNS, errorTextFor } from "@/lib/events/list/event-rows.read";
import { REDACTED, redactHeaders, redactJson, redactOrigin } from "@/lib/guard/redaction/redact.pure";
import { assertMay, may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AdmissionRecord } from "@/lib/intake/admission/admission.pure";
import type { Header, Origin } from "@/lib/intake/dead-letter.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { readDecidingControls } from "@/lib/order/controls/deciding-controls.read";
import { heldBehindOf } from "@/lib/order/tails/held-behind.read";
import type { Queryable } from "@/lib/platform/database/db";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { holderOf } from "@/lib/redrive/gate/dry-run-facts.read";
import type { OrderedItem } from "@/lib/redrive/plan/redrive-plan.pure";
import { type LinkTemplate, linksOf } from "@/lib/sources/links/source-links.pure";

type DetailRow = EventOut & {
  source_id: string;
  kind: string;
  config: Record<string, unknown>;
  templates: LinkTemplate[];
  payload: Buffer;
  contentType: string;
  headers: Header[];
  errorType: string | null;
  errorMessage: string | null;
  errorStack: string | null;
  origin: Origin;
  record: AdmissionRecord | null;
};

export function unknownEvent(id: string): DomainError {
  return new DomainError("unknown-event", `There is no event ${id}: it may have left the store`, {
    fields: [{ field: "id", detail: "must be the id of an event as listed, not its eventId" }],
  });
}

/** One event with all stored facts. Throws DomainError `unknown-event`. */
export async function readEventDetail(db: Queryable, viewer: Viewer, id: string, nowMs: number): Promise<EventDetail> {
  const sources = sourceScope(viewer);
  const [row] = await db.query<DetailRow>(
    `select ${EVENT_COLUMNS}, e.source_id, s.kind, s.config, s.links as templates, ${CURRENT_BYTES}, b.origin, ${NEWEST_ERROR}
       from dlq_event_rows e join sources s on s.id = e.source_id ${CURRENT_BODY}
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sources],
    { name: "event-detail", isoTimes: true },
  );
  if (!row) throw unknownEvent(id);
  const {
    source_id,
    kind,
    config,
    templates,
    payload,
    contentType,
    headers,
    errorType,
    errorMessage,
    errorStack,
    record,
    ...event
  } = row;
  const subject = {
    id,
    eventId: row.eventId,
    source: row.source,
    sourceId: source_id,
    aggregateType: row.aggregateType,
    aggregateId: row.aggregateId,
  };
  const [history, aggregate, controls, group, deciding] = await Promise.all([
    readHistory(db, subject),
    readAggregate(db, {
      id,
      sourceId: source_id,
      aggregateType: row.aggregateType,
      aggregateId: row.aggregateId,
      version: row.version === null ? null : BigInt(row.version),
      status: row.status,
    }),
    readAppliedControls(db, row, nowMs),
    readGroup(db, row.fingerprint, sources),
    readDecidingControls(db, [row], nowMs),
  ]);
  const source = { kind, config } as SourceConfig;
  const textOut = errorTextFor(viewer);
  return {
    ...event,
    lastError: textOut(event.lastError),
    body: bodyFor(viewer, payload, contentType),
    headers: redactHeaders(headers),
    origin: redactOrigin(event.origin),
    errorDetail: { type: errorType, message: textOut(errorMessage), stack: textOut(errorStack) },
    admitted: record,
    history: history.map((entry) => answerFor(textOut, entry)),
    aggregate: aggregate.members,
    heldBy: aggregate.heldBy,
    heldBehind: aggregate.heldBehind,
    control: deciding.get(id) ?? null,
    controls,
    group: group && { ...group, pattern: textOut(group.pattern) },
    target: { main: targetAddress(source, "main"), slow: targetAddress(source, "slow") },
    links: linksOf(templates, { ...row, atMs: Date.parse(row.failedAt ?? row.firstSeen) }),
  };
}

/** The answer of a target, or an error, may repeat the payload that was sent. */
function answerFor(textOut: ReturnType<typeof errorTextFor>, entry: HistoryEntry): HistoryEntry {
  const { answer } = entry.detail;
  if (typeof answer === "string") return { ...entry, detail: { ...entry.detail, answer: textOut(answer) } };
  const error = entry.detail.error as { type: string | null; message: string | null; stack: string | null } | undefined;
  if (error === undefined) return entry;
  const { type, message, stack } = error;
  return { ...entry, detail: { ...entry.detail, error: { type, message: textOut(message), stack: textOut(stack) } } };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function bodyOut(payload: Buffer, contentType: string): BodyOut {
  let text: string | null;
  try {
    text = utf8.decode(payload);
  } catch {
    text = null;
  }
  return { contentType, text, base64: payload.toString("base64"), bytes: payload.byteLength, masked: false };
}

/** A payload as this viewer may see it. */
export function bodyFor(viewer: Viewer, payload: Buffer, contentType: string): BodyOut {
  return may(viewer, "reveal") ? bodyOut(payload, contentType) : maskedBody(payload, contentType);
}

function maskedBody(payload: Buffer, contentType: string): BodyOut {
  const whole = bodyOut(payload, contentType);
  const text = whole.text === null ? null : redactJson(whole.text);
  if (text !== null && text === whole.text) return whole;
  return { ...whole, text: text ?? REDACTED, base64: Buffer.from(text ?? REDACTED).toString("base64"), masked: true };
}

export type StoredPayload = { eventId: string; contentType: string; payload: Buffer };

/** The exact bytes of a payload, of the current revision unless another is named. Throws DomainError `unknown-event`. */
export async function readPayload(
  db: Queryable,
  viewer: Viewer,
  id: string,
  revision: number | null = null,
): Promise<StoredPayload> {
  assertMay(viewer, "reveal");
  const [row] = await db.query<StoredPayload & { found: boolean }>(
    `select e.event_id as "eventId", coalesce(v.content_type, b.content_type) as "contentType",
            coalesce(v.payload, b.payload) as payload, coalesce(v.revision, 1) = coalesce($3, e.revision) as found
       from dlq_events e join sources s on s.id = e.source_id join dlq_event_bodies b on b.id = e.id
       left join event_revisions v on v.id = e.id and v.revision = coalesce($3::int, e.revision)
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer), revision],
    { name: "event-payload" },
  );
  if (!row) throw unknownEvent(id);
  if (!row.found) throw unknownRevision(id, revision!);
  return row;
}

export function unknownRevision(id: string, revision: number): DomainError {
  return new DomainError("unknown-revision", `Event ${id} has no revision ${revision}`, {
    fields: [{ field: "revision", detail: `must be one that GET /api/v1/events/${id}/revisions lists` }],
  });
}

/** Members shown of one aggregate; it rarely has more than a few events parked. */
const MEMBERS_MAX = 200;

/** The events of an aggregate in the order in which they are sent: see `comparePlaces` in `order/place.pure.ts`. */
async function readAggregate(
  db: Queryable,
  event: OrderedItem & { status: EventStatus },
): Promise<{ members: AggregateMember[]; heldBy: HeldBy | null; heldBehind: HeldBehind | null }> {
  const { sourceId, aggregateType, aggregateId } = event;
  if (aggregateId === null) return { members: [], heldBy: null, heldBehind: null };
  const [rows, orders] = await Promise.all([
    db.query<Omit<AggregateMember, "head" | "heldBehind">>(
      `select e.id, e.event_id as "eventId", e.version, e.event_type as "eventType", e.error_code as "errorCode",
              e.status, e.bounces, e.confirmed_at as "confirmedAt", e.cooldown_until as "cooldownUntil",
              e.first_seen as "firstSeen"
         from dlq_event_rows e
        where e.found_aggregate_id = $2 and e.source_id = $1 and coalesce(e.aggregate_type, '') = coalesce($3, '')
        order by e.version nulls last, e.id limit ${MEMBERS_MAX}`,
      [sourceId, aggregateId, aggregateType],
      { name: "aggregate-members", isoTimes: true },
    ),
    readAggregateOrder(db, [{ sourceId, aggregateType, aggregateId }], null),
  ]);
  const order = [...orders.values()][0]!;
  const holder = isParked(event.status) ? holderOf(event, order) : null;
  // By the same rule as the engine, so that the page and the engine name the same head.
  return {
    members: rows.map((row) => ({
      ...row,
      head: row.id === order.heads[0]?.id,
      heldBehind: heldBehindOf({ ...event, ...row }, order),
    })),
    heldBy: holder && { id: holder.id, eventId: holder.eventId, text: holder.text },
    heldBehind: heldBehindOf(event, order),
  };
}

async function readAppliedControls(db: Queryable, row: DetailRow, nowMs: number): Promise<AppliedControl[]> {
  const rows = await db.query<Omit<AppliedControl, "expiresAt"> & { expiresMs: number | null }>(
    `select id, kind, scope, value, source, aggregate_type as "aggregateType", reason, origin,
            created_by as "createdBy", expires_at as "expiresMs" from controls
      where lifted_at is null and (expires_at is null or expires_at > to_timestamp($5::float8 / 1000))
        and (source is null or source = $4) and (aggregate_type is null or aggregate_type = $6)
        and ((scope = 'eventId' and value = $1) or (scope = 'aggregateId' and value = $2)
             or (scope = 'errorCode' and value = $3) or (scope = 'source' and value = $4))
     union all
     select blacklist_id, 'blacklist', 'aggregateId', aggregate_id, $4, nullif(aggregate_type, ''), blacklist_reason,
            'automatic', 'worker', null
       from aggregates
      where aggregate_id = $2 and source_id = $7 and aggregate_type = coalesce($6, '') and blacklist_id is not null
      order by id`,
    [row.eventId, row.aggregateId, row.errorCode, row.source, nowMs, row.aggregateType, row.source_id],
    { name: "applied-controls" },
  );
  return rows.map(({ expiresMs, ...control }) => ({ ...control, expiresAt: isoOrNull(expiresMs) }));
}

async function readGroup(db: Queryable, fingerprint: string, sources: string[] | null): Promise<EventDetail["group"]> {
  const [row] = await db.query<{ pattern: string; parked: number }>(
    `select g.message_pattern as pattern,
            (select coalesce(sum(n), 0)::bigint from dlq_group_levels l
              where l.fingerprint = g.fingerprint and l.status = any($2::text[])
                and ($3::text[] is null or l.source_id = any(array(select id from sources where name = any($3))))) as parked
       from dlq_groups g where g.fingerprint = $1`,
    [fingerprint, PARKED_STATUSES, sources],
    { name: "event-group" },
  );
  return row ? { fingerprint, pattern: row.pattern, parked: row.parked } : null;
}
