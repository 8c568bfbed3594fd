import { createHash } from "node:crypto";
import * as z from "zod/mini";
import { mediaTypeOf, readBody } from "@/app/_server/body";
import type { Call } from "@/app/_server/handle";
import { STRUCTURED_CLOUDEVENT } from "@/lib/brokers/conventions/cloudevents.pure";
import type { ParkAnswer } from "@/lib/events/events.shapes";
import { type Arrival, type ArrivalLimits, lineBytesMax, type Rejection, reject } from "@/lib/intake/arrival.shapes";
import {
  type CloudEventOptions,
  cloudEventSchema,
  isBinaryMode,
  readBinary,
  readStructured,
} from "@/lib/intake/cloudevents.shapes";
import { readByMembers, readEventIn, readPlainEvent } from "@/lib/intake/event-in.shapes";
import { readSourceRules, type SourceRules } from "@/lib/intake/source-rules.read";
import { DomainError, type ProblemCode } from "@/lib/platform/plain/problem.pure";
import {
  elementsInSteps,
  endOfValue,
  isArrayAt,
  isObjectAt,
  JsonSyntax,
  type Member,
  membersInSteps,
  type Span,
  skipSpace,
  spaceInSteps,
  valueInSteps,
} from "@/lib/platform/plain/raw-json.pure";
import { createTurns } from "@/lib/platform/turns";
import { digestOf } from "./digested";
import { Intake } from "./intake";
import { linesOf } from "./ndjson";
import { namesAnySignature, signedSources } from "./signed-intake";

/**
 * The forms of POST /api/v1/events: our JSON (one, an array, `{ events }`), NDJSON as a stream, CloudEvents structured,
 * binary and in batches. One event that is refused is a problem; of several, each refused one is listed and its
 * neighbours are parked.
 */

const NDJSON = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"] as const;
const CLOUDEVENT_BATCH = "application/cloudevents-batch+json";

/** Beside JSON. A binary CloudEvent may have any type. */
export const INGEST_MEDIA = {
  [NDJSON[0]]: null,
  [STRUCTURED_CLOUDEVENT]: cloudEventSchema,
  [CLOUDEVENT_BATCH]: z.array(cloudEventSchema),
};
export const INGEST_PROBLEMS: readonly ProblemCode[] = [
  "invalid-cloudevent",
  "too-many-headers",
  "too-many-events",
  "too-many-refusals",
  "too-busy",
  "store-full",
  "unknown-source",
  "not-signed",
];

/** Of a request that is no stream: it is held in memory until its last event is stored. A stream may have any number. */
const EVENTS_MAX = 10_000;
/** Of the object around `events`. */
const MEMBERS_MAX = 64;

export type IngestCall = Call<{ source: string | null; errorCode: string | null }>;
/** With the rules of the sources, read once. */
type RuledCall = IngestCall & { rules: ReadonlyMap<string, SourceRules> };

export async function ingest(incoming: IngestCall): Promise<ParkAnswer> {
  const call = await withRules(incoming);
  const read = readerOf(call);
  // A signature covers the body as a whole, so a body that has one is read to its end first.
  if (read === ingestLines && !namesAnySignature(call.rules, call.request.headers)) return ingestLines(call, null);
  return withBody(call, (bytes) => read(call, bytes));
}

/**
 * As `ingest`, for whoever has not signed in: nothing is read of the body, and nothing is kept of the request, before its signature is
 * found to be right. `digest`: of the whole request. Throws DomainError `not-signed`.
 */
export async function ingestSigned(
  incoming: IngestCall,
  kept: (run: () => Promise<ParkAnswer>, sent: { fingerprint: () => string; actor: string }) => Promise<ParkAnswer>,
): Promise<ParkAnswer> {
  const call = await withRules(incoming);
  const read = readerOf(call);
  return withBody(call, (bytes) => {
    const sources = signedSources(call, { rules: call.rules, body: bytes });
    // All who sign have one name in the audit. A key belongs to whoever has the secret.
    const sent = { fingerprint: () => digestOf(call.request, bytes), actor: senderOf(sources) };
    return kept(() => read(call, bytes), sent);
  });
}

/** Short, however many sources share a secret: it is in the key of an index. */
function senderOf(sources: readonly string[]): string {
  return `source:${createHash("sha256").update(JSON.stringify(sources)).digest("base64url")}`;
}

async function withRules(call: IngestCall): Promise<RuledCall> {
  assertPlain(call.request);
  return { ...call, rules: await readSourceRules(call.deps.db, call.viewer) };
}

type Reader = (call: RuledCall, bytes: Buffer) => Promise<ParkAnswer>;

function readerOf({ request }: IngestCall): Reader {
  const type = mediaTypeOf(request);
  if (type !== null && (NDJSON as readonly string[]).includes(type)) return ingestLines;
  if (type === CLOUDEVENT_BATCH) return ingestCloudEvents;
  if (type === STRUCTURED_CLOUDEVENT) return ingestCloudEvent;
  if (isBinaryMode(request.headers)) return ingestBinary;
  if (type === null || type === "application/json" || type.endsWith("+json")) return ingestJson;
  throw new DomainError("unsupported-media-type", `${type} is not supported: send JSON, NDJSON or a CloudEvent`, {
    fields: [{ field: "content-type", detail: `use application/json, ${NDJSON[0]} or ${STRUCTURED_CLOUDEVENT}` }],
  });
}

async function ingestCloudEvents(call: RuledCall, bytes: Buffer): Promise<ParkAnswer> {
  const options = cloudEventOptions(call);
  return ingestEach(call, bytes, await arrayIn(call, bytes), (span) => readStructured(bytes, span, options));
}

async function ingestCloudEvent(call: RuledCall, bytes: Buffer): Promise<ParkAnswer> {
  const span = await wholeSpan(call, bytes);
  return ingestOne(call, bytes, () => readStructured(bytes, span, cloudEventOptions(call)));
}

function ingestBinary(call: RuledCall, bytes: Buffer): Promise<ParkAnswer> {
  return ingestOne(call, bytes, () => readBinary(call.request.headers, bytes, cloudEventOptions(call)), false);
}

function assertPlain(request: Request): void {
  const coding = request.headers.get("content-encoding") ?? "identity";
  if (coding === "identity") return;
  throw new DomainError(
    "unsupported-media-type",
    `content-encoding ${coding} is not supported: send the body uncompressed`,
    {
      fields: [{ field: "content-encoding", detail: "leave it out" }],
    },
  );
}

async function withBody(call: IngestCall, work: (bytes: Buffer) => Promise<ParkAnswer>): Promise<ParkAnswer> {
  const { deps, client } = call;
  const body = await readBody(call.request, deps.env.requestBytesMax, (bytes, own) =>
    deps.limits.holdBytes(client, bytes, own),
  );
  try {
    return await work(body.bytes);
  } finally {
    body.release();
  }
}

function limitsOf({ deps }: IngestCall): ArrivalLimits {
  return { payloadBytesMax: deps.env.payloadBytesMax, headersMax: deps.env.headersMax };
}

function cloudEventOptions(call: IngestCall): CloudEventOptions {
  const { source, errorCode } = call.query;
  return { ...limitsOf(call), source: source ?? call.request.headers.get("x-parkade-source"), errorCode };
}

/** One event in our JSON, an array of them, or `{ events: [...] }`. */
async function ingestJson(call: RuledCall, bytes: Buffer): Promise<ParkAnswer> {
  const options = { ...limitsOf(call), defaultSource: call.query.source };
  const read = (span: Span) => readEventIn(bytes, span, options);
  const start = await walk(call, spaceInSteps(bytes, 0));
  if (isArrayAt(bytes, start)) return ingestEach(call, bytes, await arrayIn(call, bytes), read);
  if (!isObjectAt(bytes, start)) throw invalidJson("The body is not a JSON object or array");
  const members = await objectIn(call, bytes, start);
  const events = members.find((member) => member.key === "events");
  if (events && !members.some((member) => member.key === "eventId")) {
    if (!isArrayAt(bytes, events.start)) {
      throw new DomainError("invalid-request", "events must be a list", {
        fields: [{ field: "events", detail: "must be a list of events" }],
      });
    }
    return ingestEach(call, bytes, await elementsAt(call, bytes, events.start), read);
  }
  return ingestOne(call, bytes, () => read({ start, end: bytes.length }));
}

/** Walks a scan in turns with the other requests; `found` is called for each span. Returns what the scan returns. */
async function walk<Found>(
  { deps }: IngestCall,
  steps: Generator<Found | null, number>,
  found: (span: Found) => void = () => {},
): Promise<number> {
  const turns = createTurns(deps.clock);
  for (;;) {
    const { value, done } = syntax(() => steps.next());
    if (done) return value;
    if (value !== null) found(value);
    if (turns.due()) await turns.give();
  }
}

/** The elements of the body, which is an array. */
async function arrayIn(call: IngestCall, bytes: Uint8Array): Promise<Span[]> {
  const start = await walk(call, spaceInSteps(bytes, 0));
  if (!isArrayAt(bytes, start)) throw invalidJson("The body is not a JSON array");
  return elementsAt(call, bytes, start, true);
}

async function elementsAt(call: IngestCall, bytes: Uint8Array, start: number, isBody = false): Promise<Span[]> {
  const spans: Span[] = [];
  const end = await walk(call, elementsInSteps(bytes, start), (span) => {
    if (spans.length === EVENTS_MAX) throw tooManyEvents();
    spans.push(span);
  });
  if (isBody) await assertEnd(call, bytes, end);
  return spans;
}

function tooManyEvents(): DomainError {
  const detail = `A request can have at most ${EVENTS_MAX} events: send several requests, or a stream of any length as ${NDJSON[0]}`;
  return new DomainError("too-many-events", detail);
}

async function objectIn(call: IngestCall, bytes: Uint8Array, start: number): Promise<Member[]> {
  const members: Member[] = [];
  const end = await walk(call, membersInSteps(bytes, start), (member) => {
    const { key: field } = member;
    if (members.length === MEMBERS_MAX) {
      throw new DomainError(
        "invalid-request",
        `The body is an object with more than ${MEMBERS_MAX} members, so it is not an event`,
      );
    }
    if (members.some(({ key }) => key === field)) {
      const detail = "is set twice: set it once";
      throw new DomainError("invalid-request", `${field} ${detail}`, { fields: [{ field, detail }] });
    }
    members.push(member);
  });
  await assertEnd(call, bytes, end);
  return members;
}

/** The one value of the body. */
async function wholeSpan(call: IngestCall, bytes: Uint8Array): Promise<Span> {
  const start = await walk(call, spaceInSteps(bytes, 0));
  const end = await walk(call, valueInSteps(bytes, start));
  await assertEnd(call, bytes, end);
  return { start, end };
}

async function assertEnd(call: IngestCall, bytes: Uint8Array, end: number): Promise<void> {
  const rest = await walk(call, spaceInSteps(bytes, end));
  if (rest < bytes.length) throw notJson(new JsonSyntax(rest, "something follows the value"));
}

function syntax<T>(scan: () => T): T {
  try {
    return scan();
  } catch (error) {
    throw error instanceof JsonSyntax ? notJson(error) : error;
  }
}

function notJson({ at, message }: JsonSyntax): DomainError {
  return invalidJson(`The body is not JSON: at byte ${at}, ${message}`);
}

function invalidJson(detail: string): DomainError {
  return new DomainError("invalid-json", detail);
}

async function ingestOne(call: RuledCall, body: Buffer, read: () => Arrival, eventsInBody = true): Promise<ParkAnswer> {
  const intake = new Intake(call, { rules: call.rules, body, eventsInBody });
  await intake.take(read, body.length);
  const answer = await intake.finish();
  if (answer.rejected[0]) throw asProblem(answer.rejected[0]);
  return answer;
}

function asProblem({ code, detail, field }: Rejection): DomainError {
  return new DomainError(code, detail, field === undefined ? {} : { fields: [{ field, detail }] });
}

async function ingestEach(
  call: RuledCall,
  body: Buffer,
  spans: Span[],
  read: (span: Span) => Arrival,
): Promise<ParkAnswer> {
  const intake = new Intake(call, { rules: call.rules, body, eventsInBody: true });
  try {
    for (const span of spans) {
      const busy = intake.take(() => read(span), span.end - span.start);
      if (busy) await busy;
    }
    return await intake.finish();
  } catch (error) {
    throw await intake.interrupted(error);
  }
}

/** Lines of any number. Without `whole`, the body as it was read for its signature, what is held is a line and two batches. */
async function ingestLines(call: RuledCall, whole: Buffer | null): Promise<ParkAnswer> {
  const limits = limitsOf(call);
  const options = { ...limits, defaultSource: call.query.source };
  const intake = new Intake(call, { rules: call.rules, body: whole, eventsInBody: true, streams: whole === null });
  const body = whole === null ? (call.request.body ?? emptyBody()) : oneChunk(whole);
  const bytesMax = lineBytesMax(limits);
  try {
    for await (const lines of linesOf(body, bytesMax)) {
      for (const line of lines) {
        const busy =
          "tooLong" in line
            ? intake.take(() => reject(lineTooLong(bytesMax)), 0)
            : intake.take(() => readLine(line.bytes, options), line.bytes.length);
        if (busy) await busy;
      }
    }
    return await intake.finish();
  } catch (error) {
    throw await intake.interrupted(error);
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function lineTooLong(bytesMax: number): Rejection {
  return { code: "payload-too-large", detail: `The line is longer than ${bytesMax} bytes` };
}

function readLine(bytes: Uint8Array, options: Parameters<typeof readEventIn>[2]): Arrival {
  const start = skipSpace(bytes, 0);
  const plain = readPlainEvent(bytes, { start, end: bytes.length }, options);
  if (plain !== null) return plain;
  const end = endOfValue(bytes, start);
  const rest = skipSpace(bytes, end);
  if (rest < bytes.length) throw new JsonSyntax(rest, "something follows the value");
  return readByMembers(bytes, { start, end }, options);
}
