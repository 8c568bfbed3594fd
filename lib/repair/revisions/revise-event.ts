import { decodeBody } from "@/lib/events/detail/decode-body.read";
import { holdsMasked, unknownRevision } from "@/lib/events/detail/event-detail.read";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { countMasks } from "@/lib/guard/masking/mask-json.pure";
import { setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { answerOnce, type IdempotentRequest } from "@/lib/platform/database/idempotent-request.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { decodeBase64, headerFault } from "@/lib/platform/plain/header-fault.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  lastRevising,
  openRedriveOf,
  readRevisable,
  readRevisionBytes,
  type StoredRevision,
} from "@/lib/repair/revisions/event-revisions.read";
import { type Revised, reviseEvents, setRevisions } from "@/lib/repair/revisions/revise-events.write";
import { maskedRefusal } from "@/lib/repair/revisions/revision.pure";
import type {
  EditedAnswer,
  EditRequest,
  PayloadProblem,
  RestoreRequest,
  RevisedAnswer,
} from "@/lib/repair/revisions/revisions.shapes";
import { type FormedBody, formOf, formWords } from "@/lib/sources/schemas/body-form.pure";
import type { PayloadCheck, PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { unknownEvent } from "@/lib/states/unknown.pure";

/** `idempotency`: absent or null = the request came without a key. */
type Revise = { id: string; idempotency?: IdempotentRequest | null };
type Revising = Pick<Deps, "db" | "clock">;

/**
 * Adds a revision to one event, which becomes the current one. Bytes are stored exactly as they were sent: of an event with
 * masked values the request holds the revealed ones. Throws DomainError `unknown-event`, `forbidden`, `event-queued`,
 * `illegal-transition`, `stale-revision`, `unknown-revision`, `same-bytes`, `masked-value`, `payload-broken`,
 * `payload-too-large`, `too-many-headers`, `invalid-request`, `idempotency-key-reused`.
 */
export async function editEvent(
  deps: Revising & { checkPayloads: PayloadChecker },
  { id, idempotency, headersMax, ...request }: EditRequest & Revise & { headersMax: number },
  viewer: Viewer,
): Promise<EditedAnswer> {
  return reviseOnce(deps, idempotency, async (tx, atMs) => {
    const { source, sourceId, eventType, revision: current } = await readRevisable(tx, viewer, id);
    assertMay(viewer, "edit", [source]);
    const base = await readRevisionBytes(tx, id, request.base);
    if (base === null) throw unknownRevision(id, request.base);
    if (!may(viewer, "reveal") && (await holdsMasked(base, setFor((await readMasks(tx)).of(source), false))))
      throw maskedRefusal(viewer, "The event has");
    const edited = editedBytes(base, request, headersMax);
    await assertEncoded(base, { ...edited, origin: base.origin }, request);
    const changed = changedParts(base, edited);
    // Who edits what is no longer current must hear that first.
    if (changed.length === 0 && request.base === current) {
      throw new DomainError("same-bytes", `This is the same as revision ${request.base}: change something, or cancel`, {
        fields: [{ field: "base", detail: "has the same payload, content type and headers" }],
      });
    }
    const { payloadBytesMax } = await readSettings(tx);
    const { byteLength } = edited.payload;
    if (byteLength > payloadBytesMax && changed.includes("payload")) {
      const detail = `has ${byteLength} bytes, but targets accept ${payloadBytesMax} (the setting payloadBytesMax)`;
      throw new DomainError("payload-too-large", `The payload ${detail}: shorten it, or raise the setting`, {
        fields: [{ field: payloadField(request), detail }],
      });
    }
    const [check] = await deps.checkPayloads.inForce(tx, [{ ...edited, origin: base.origin, sourceId, eventType }]);
    const problems = problemsOf(check!);
    const field = changed.includes("payload") ? payloadField(request) : "contentType";
    // New headers leave a payload as broken as it was.
    if (problems.length > 0 && !request.breaking && changed.some((part) => part !== "headers")) {
      throw new DomainError(
        "payload-broken",
        `No redrive would send this payload: ${problems.map(({ detail }) => detail).join("; ")}. Correct it, or save it with breaking: true`,
        { fields: problems.map(({ detail }) => ({ field, detail })) },
      );
    }
    const by = { cause: "edit" as const, actor: viewer.name, reason: request.reason, operationId: null, atMs };
    const revision = { id, base: request.base, ...edited, patch: { changed } };
    const [revised] = await reviseEvents(tx, { ...by, revisions: [revision] });
    const answer = await audited(tx, viewer, {
      revised: revised!,
      before: request.base,
      action: "event.edited",
      ...by,
    });
    return { ...answer, problems };
  });
}

/** The reasons for which the dry run refuses a payload. */
function problemsOf({ parses, schema }: PayloadCheck): PayloadProblem[] {
  if (parses.ok === false) return [{ reason: "payload-unparsable", detail: parses.detail }];
  if (schema.ok !== false) return [];
  return [{ reason: schema.tooSlow ? "schema-timeout" : "schema-mismatch", detail: schema.detail }];
}

/**
 * Makes another revision of one event the current one; no bytes are copied. Throws DomainError `unknown-event`,
 * `event-queued`, `illegal-transition`, `stale-revision`, `unknown-revision`, `same-bytes`, `idempotency-key-reused`.
 */
export async function restoreRevision(
  deps: Revising,
  { id, idempotency, base, revision, reason }: RestoreRequest & Revise,
  viewer: Viewer,
): Promise<RevisedAnswer> {
  return reviseOnce(deps, idempotency, async (tx, atMs) => {
    const { source } = await readRevisable(tx, viewer, id);
    assertMay(viewer, "edit", [source]);
    if (base === revision) {
      throw new DomainError("same-bytes", `Revision ${revision} is the current one`, {
        fields: [{ field: "revision", detail: "must differ from base" }],
      });
    }
    const [revised] = await setRevisions(tx, [{ id, from: base, to: revision }], viewer.name);
    if (revised!.refusal === "unknown-revision") throw unknownRevision(id, revision);
    return audited(tx, viewer, { revised: revised!, before: base, action: "event.restored", reason, atMs });
  });
}

/** The change, its audit entry and its answer under the Idempotency-Key, in one transaction. */
async function reviseOnce<Answer extends RevisedAnswer>(
  { db, clock }: Revising,
  idempotency: Revise["idempotency"],
  work: (tx: Tx, atMs: number) => Promise<Answer>,
): Promise<Answer> {
  const atMs = clock.wallMs();
  return (await inTransaction(db, (tx) => answerOnce(tx, idempotency, atMs, () => work(tx, atMs)))).answer;
}

type EditedBytes = { payload: Uint8Array; contentType: string; headers: Header[] };

function editedBytes(base: StoredRevision, request: EditRequest, headersMax: number): EditedBytes {
  return {
    payload: editedPayload(base, request),
    contentType: request.contentType ?? base.contentType,
    headers: editedHeaders(base, request.headers, headersMax),
  };
}

function payloadField({ text }: EditRequest): "text" | "base64" {
  return text === undefined ? "base64" : "text";
}

const decoder = new TextDecoder();

function editedPayload(base: StoredRevision, request: EditRequest): Uint8Array {
  const { text, base64 } = request;
  if (text !== undefined && base64 !== undefined) {
    throw invalid("base64", "and text are both given: give one");
  }
  if (text === undefined && base64 === undefined) return base.payload;
  const sent = text === undefined ? decodeBase64(base64!) : Buffer.from(text, "utf8");
  if (sent === null) throw invalid("base64", "must be base64 text");
  assertNoMask(decoder.decode(base.payload), decoder.decode(sent), payloadField(request));
  return sent;
}

/** Text would be sent as what the message calls its body: a consumer would undo an encoding that nobody applied. */
async function assertEncoded(base: StoredRevision, edited: FormedBody, { text }: EditRequest): Promise<void> {
  const words = formWords(formOf(edited));
  if (text === undefined || words === null) return;
  const decoded = await decodeBody(base);
  // A header may name an encoding that something on the way has undone.
  if (decoded === null || decoded.text === null) return;
  throw invalid(
    "text",
    `would be sent as ${words}, according to the message: give the encoded bytes as base64, or correct the content type and the headers in the same edit`,
  );
}

/** A mask that the request adds was read from a masked answer, and would be stored in the place of the value. */
function assertNoMask(before: string, after: string, field: string): void {
  if (countMasks(after) <= countMasks(before)) return;
  const detail = `contains the mask ${REDACTED}, which would be stored as a value: reveal the event, and send its values`;
  throw new DomainError("masked-value", `${field} ${detail}`, { fields: [{ field, detail }] });
}

function editedHeaders(base: StoredRevision, headers: Header[] | undefined, headersMax: number): Header[] {
  if (headers === undefined) return base.headers;
  // A broker may have brought more.
  const most = Math.max(headersMax, base.headers.length);
  if (headers.length > most) {
    throw new DomainError("too-many-headers", `There are ${headers.length} headers, the limit is ${most}`, {
      fields: [{ field: "headers", detail: `must be at most ${most}` }],
    });
  }
  for (const [index, header] of headers.entries()) {
    const fault = headerFault(header);
    if (fault !== null) throw invalid(`headers[${index}]`, fault);
  }
  assertNoMask(JSON.stringify(base.headers), JSON.stringify(headers), "headers");
  return headers;
}

function changedParts(base: StoredRevision, { payload, contentType, headers }: EditedBytes): string[] {
  return [
    ...(base.payload.equals(payload) ? [] : ["payload"]),
    ...(base.contentType === contentType ? [] : ["contentType"]),
    ...(JSON.stringify(base.headers) === JSON.stringify(headers) ? [] : ["headers"]),
  ];
}

type Done = { revised: Revised; before: number; action: string; reason: string; atMs: number };

/** The audit entry of what was done, or the refusal as an error. */
async function audited(
  tx: Tx,
  viewer: Viewer,
  { revised, before, action, reason, atMs }: Done,
): Promise<RevisedAnswer> {
  const { id } = revised;
  if (revised.refusal !== null) throw await refusalError(tx, revised, before);
  await appendAudit(tx, {
    actor: viewer.name,
    action,
    subjectKind: "event",
    subjectId: id,
    reason,
    before: { revision: before },
    after: { revision: revised.revision },
    atMs,
    eventIds: [id],
  });
  return { id, revision: revised.revision };
}

/** Why an event was not revised, with the way out. */
async function refusalError(
  db: Queryable,
  { id, refusal, current }: Exclude<Revised, { refusal: null }>,
  base: number,
): Promise<DomainError> {
  switch (refusal) {
    case "not-found":
      return unknownEvent(id);
    case "unknown-revision":
      return unknownRevision(id, base);
    case "event-queued": {
      const open = await openRedriveOf(db, id);
      const redrive = open === null ? "a redrive" : `redrive ${open.redriveId}`;
      const frozen = open === null ? "" : ` with revision ${open.revision}`;
      return new DomainError(
        "event-queued",
        `The event is in ${redrive}${frozen}, which sends what it froze: cancel it or wait for its end, then revise the event`,
        { fields: [{ field: "id", detail: open === null ? "is queued" : `is queued by ${open.redriveId}` }] },
      );
    }
    case "already-redriven":
      return new DomainError(
        "illegal-transition",
        "The event was redriven and has not bounced: a revision would never be sent",
        { fields: [{ field: "id", detail: "must be an event that is PENDING or IGNORED" }] },
      );
    case "stale-revision": {
      const change = await lastRevising(db, id);
      const who = change === null ? "" : `: ${change.actor} made it current at ${change.at}`;
      return new DomainError(
        "stale-revision",
        `Revision ${current} is the current one, not ${base}${who}. Compare it with yours, and base the change on it`,
        { fields: [{ field: "base", detail: `must be ${current}` }] },
      );
    }
  }
}

function invalid(field: string, detail: string): DomainError {
  return new DomainError("invalid-request", `${field} ${detail}`, { fields: [{ field, detail }] });
}
