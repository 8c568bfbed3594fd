import { type SourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import { type DecodedBody, decodeBody, isVeiled } from "@/lib/events/detail/decode-body.read";
import { type ControlRow, readHistory } from "@/lib/events/detail/event-history.read";
import type { AggregateMember, BodyOut, EventDetail, EventOut, HeldBy, HistoryEntry } from "@/lib/events/events.shapes";
import { maskBody, maskData, maskHeaders, maskNullable, maskOrigin, maskTags } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, NOTHING_MASKED, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { assertMay, may, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { OrderedItem } from "@/lib/order/aggregate.pure";
import { readAggregateOrder } from "@/lib/order/aggregate-order.read";
import { decidingControl } from "@/lib/order/controls/control.pure";
import type { AppliedControl } from "@/lib/order/controls/controls.shapes";
import { holderOf } from "@/lib/order/held-by.pure";
import { heldBehindOf } from "@/lib/order/tails/held-behind.read";
import type { HeldBehind } from "@/lib/order/tails/tails.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { oneAtATime } from "@/lib/platform/database/few-at-once";
import type { Header, Origin } from "@/lib/platform/plain/dead-letter.pure";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { CURRENT_BODY, CURRENT_BYTES, NEWEST_ERROR } from "@/lib/selection/bodies.read";
import { EVENT_COLUMNS } from "@/lib/selection/event-rows.read";
import { type LinkTemplate, linksOf } from "@/lib/sources/links/source-links.pure";
import type { FormedBody } from "@/lib/sources/schemas/body-form.pure";
import type { AdmissionRecord } from "@/lib/states/admission-mark.pure";
import { type EventStatus, isParked } from "@/lib/states/event-state.pure";
import { PARKED } from "@/lib/states/state.sql";
import { unknownEvent } from "@/lib/states/unknown.pure";

type DetailRow = EventOut & {
  payload: Buffer;
  headers: Header[];
  errorStack: string | null;
  source_id: string;
  kind: string;
  config: Record<string, unknown>;
  templates: LinkTemplate[];
  contentType: string;
  errorType: string | null;
  errorMessage: string | null;
  origin: Origin;
  record: AdmissionRecord | null;
  /** Of its group; null = the group is not stored. */
  pattern: string | null;
  parked: number;
};

/** One event with all stored facts, masked by the rules. Throws DomainError `unknown-event`. */
export async function readEventDetail(db: Queryable, viewer: Viewer, id: string, nowMs: number): Promise<EventDetail> {
  return readDetail(db, viewer, { id, nowMs, reveals: false });
}

/** The same without masks: the caller audits it in the same transaction. Throws DomainError `unknown-event`, `forbidden`. */
export async function readRevealedEvent(tx: Tx, viewer: Viewer, id: string, nowMs: number): Promise<EventDetail> {
  assertMay(viewer, "reveal");
  return readDetail(oneAtATime(tx), viewer, { id, nowMs, reveals: true });
}

type Asked = { id: string; nowMs: number; reveals: boolean };

async function readDetail(db: Queryable, viewer: Viewer, { id, nowMs, reveals }: Asked): Promise<EventDetail> {
  const [row] = await db.query<DetailRow>(
    `select ${EVENT_COLUMNS}, e.source_id, s.kind, s.config, s.links as templates, ${CURRENT_BYTES}, b.origin, ${NEWEST_ERROR},
            g.message_pattern as pattern,
            (select coalesce(sum(n), 0)::bigint from dlq_group_levels l
              where l.fingerprint = e.fingerprint and l.status in ${PARKED}
                and ($2::text[] is null or l.source_id = any(array(select id from sources where name = any($2))))) as parked
       from dlq_event_rows e join sources s on s.id = e.source_id ${CURRENT_BODY}
       left join dlq_groups g on g.fingerprint = e.fingerprint
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer)],
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
    pattern,
    parked,
    ...event
  } = row;
  const subject = {
    id,
    eventId: row.eventId,
    source: row.source,
    aggregateType: row.aggregateType,
    aggregateId: row.aggregateId,
    errorCode: row.errorCode,
  };
  const [masks, decoded, { history, controls }, aggregate] = await Promise.all([
    reveals ? null : readMasks(db),
    decodeBody({ payload, contentType, headers, origin: row.origin }),
    readHistory(db, subject),
    readAggregate(db, {
      id,
      sourceId: source_id,
      aggregateType: row.aggregateType,
      aggregateId: row.aggregateId,
      version: row.version === null ? null : BigInt(row.version),
      status: row.status,
    }),
  ]);
  const applied = controls
    .filter(({ expiresAtMs }) => expiresAtMs === null || expiresAtMs > nowMs)
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const deciding = row.status === "PENDING" ? decidingControl(applied) : null;
  const source = { kind, config } as SourceConfig;
  const set = masks === null ? NOTHING_MASKED : setFor(masks.of(row.source), may(viewer, "reveal"));
  const text = <Text extends string | null>(value: Text) => maskNullable(value, set);
  const tags = maskTags(event.tags, set);
  return {
    ...event,
    tags,
    lastError: text(event.lastError),
    body: shownBody({ payload, contentType }, decoded, set),
    headers: maskHeaders(headers, set),
    origin: maskOrigin(event.origin, set),
    errorDetail: {
      type: text(errorType),
      message: text(errorMessage),
      stack: text(errorStack),
    },
    admitted: maskData(record, set),
    history: history.map((entry) => maskEntry(entry, set)),
    aggregate: aggregate.members,
    heldBy: aggregate.heldBy,
    heldBehind: aggregate.heldBehind,
    control: deciding && controlOut(deciding, set),
    controls: applied.map((control) => controlOut(control, set)),
    group: pattern === null ? null : { fingerprint: row.fingerprint, pattern: text(pattern), parked },
    target: { main: targetAddress(source, "main"), slow: targetAddress(source, "slow") },
    links: linksOf(templates, { ...row, atMs: Date.parse(row.failedAt ?? row.firstSeen) }),
  };
}

/** An answer of a target, an error and a reason may repeat the payload that was sent. */
function maskEntry(entry: HistoryEntry, set: MaskSet): HistoryEntry {
  const { text, reason, detail } = entry;
  return { ...entry, text: maskNullable(text, set), reason: maskNullable(reason, set), detail: maskData(detail, set) };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The body of a message as its viewer may see it. */
export async function bodyOf(body: FormedBody, set: MaskSet): Promise<BodyOut> {
  return shownBody(body, await decodeBody(body), set);
}

/** Whether the rules mask anything in a message as viewers see it, including the decoded text of an encoded body. */
export async function holdsMasked(message: FormedBody, set: MaskSet): Promise<boolean> {
  const headers = maskHeaders(message.headers, set);
  if (message.headers.some(([, value], index) => value !== headers[index]![1])) return true;
  const { masked, decoded } = await bodyOf(message, set);
  return masked || (decoded !== null && decoded.maskedCount !== 0);
}

/**
 * A payload with what the rules mask replaced. Bytes that are no text are left out, since nothing is known about them; so is a
 * text of which the decoded one is masked, and one that can hide what could not be decoded: a viewer can decode it by hand.
 */
function shownBody(
  { payload, contentType }: Pick<FormedBody, "payload" | "contentType">,
  decoded: DecodedBody | null,
  set: MaskSet,
): BodyOut {
  const text = textOf(payload);
  const bytes = payload.byteLength;
  const base64 = Buffer.from(payload.buffer, payload.byteOffset, bytes).toString("base64");
  const whole = { contentType, text, base64, bytes, masked: false, maskedCount: 0, decoded: plainly(decoded) };
  if (set === NOTHING_MASKED) return whole;
  const inner = decoded === null || decoded.text === null ? null : maskBody(decoded.text, set);
  // A text with a NUL is bytes that happen to be UTF-8: no mask sees through them.
  const hides =
    text?.includes("\0") ||
    (decoded !== null && text !== null && (inner === null ? isVeiled(text) : inner.count !== 0));
  const shown = text === null || hides ? { text: REDACTED, count: null } : maskBody(text, set);
  const shownDecoded = inner === null ? whole.decoded : { ...decoded!, text: inner.text, maskedCount: inner.count };
  if (shown.count === 0) return { ...whole, decoded: shownDecoded };
  return {
    ...whole,
    text: shown.text,
    base64: Buffer.from(shown.text).toString("base64"),
    masked: true,
    maskedCount: shown.count,
    decoded: shownDecoded,
  };
}

function plainly(decoded: DecodedBody | null): BodyOut["decoded"] {
  return decoded && { ...decoded, maskedCount: 0 };
}

function textOf(payload: Uint8Array): string | null {
  try {
    return utf8.decode(payload);
  } catch {
    return null;
  }
}

/** The stored bytes of one event as text, for a trial of masks, which shows them masked. Throws DomainError `unknown-event`. */
export async function readTrialEvent(
  db: Queryable,
  viewer: Viewer,
  id: string,
): Promise<{ source: string; text: string | null; headers: Header[] }> {
  const [row] = await db.query<{ source: string; payload: Buffer; headers: Header[] }>(
    `select s.name as source, ${CURRENT_BYTES}
       from dlq_event_rows e join sources s on s.id = e.source_id ${CURRENT_BODY}
      where e.id = $1 and ($2::text[] is null or s.name = any($2))`,
    [id, sourceScope(viewer)],
  );
  if (!row) throw unknownEvent(id);
  return { source: row.source, text: textOf(row.payload), headers: row.headers };
}

export type StoredPayload = { eventId: string; contentType: string; payload: Buffer };

/**
 * The exact bytes of a payload, of the current revision unless another is named: the caller audits it in the same
 * transaction. Throws DomainError `unknown-event`, `unknown-revision`, `forbidden`.
 */
export async function readPayload(
  db: Tx,
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
  const { eventId, contentType, payload } = row;
  return { eventId, contentType, payload };
}

export function unknownRevision(id: string, revision: number): DomainError {
  return new DomainError("unknown-revision", `Event ${id} has no revision ${revision}`, {
    fields: [{ field: "revision", detail: `must be one that GET /api/v1/events/${id}/revisions lists` }],
  });
}

/** Members shown of one aggregate; it rarely has more than a few events parked. */
const MEMBERS_MAX = 200;

/** The events of an aggregate in the order in which they are sent: see `comparePlaces` in `order/aggregate.pure.ts`. */
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

function controlOut(control: ControlRow, set: MaskSet): AppliedControl {
  const { id, kind, scope, value, source, aggregateType, reason, origin, createdBy } = control;
  const expiresAt = isoOrNull(control.expiresAtMs);
  const shown = maskText(reason, set);
  return { id, kind, scope, value, source, aggregateType, reason: shown, origin, createdBy, expiresAt };
}
