import { type Arrival, type ArrivalLimits, Refused, type Rejection } from "@/lib/contract/arrival";
import { type CloudEventOptions, isBinaryMode, readBinary, readStructured } from "@/lib/contract/cloudevents";
import { readEventIn } from "@/lib/contract/event-in";
import type { ParkAnswer } from "@/lib/contract/events";
import {
  elementsOf,
  endOfValue,
  isArrayAt,
  isObjectAt,
  JsonSyntax,
  membersOf,
  type Span,
  skipSpace,
} from "@/lib/contract/raw-json";
import { DomainError } from "@/lib/core/problem";
import { mediaTypeOf, readBytes } from "./body";
import type { Call } from "./handle";
import { Intake } from "./intake";
import { linesOf } from "./ndjson";

/**
 * The forms of POST /api/v1/events: our JSON (one, an array, `{ events }`), NDJSON as a stream, CloudEvents structured,
 * binary and in batches. One event that is refused is a problem; of several, each refused one is listed and its
 * neighbours are parked.
 */

const NDJSON = ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"];
const CLOUDEVENT = "application/cloudevents+json";
const CLOUDEVENT_BATCH = "application/cloudevents-batch+json";

/** What a line may hold beyond its payload: a stack of a million characters and some. */
const ENVELOPE_BYTES_MAX = 4 * 1024 * 1024;

export type IngestCall = Call<{ source: string | null }>;

export async function ingest(call: IngestCall): Promise<ParkAnswer> {
  assertPlain(call.request);
  const type = mediaTypeOf(call.request);
  const cloudEvents = cloudEventOptions(call);
  if (type !== null && NDJSON.includes(type)) return ingestLines(call);
  if (type === CLOUDEVENT_BATCH) {
    const bytes = await body(call);
    return ingestEach(call, arrayIn(bytes), (span) => readStructured(bytes, span, cloudEvents));
  }
  if (type === CLOUDEVENT) {
    const bytes = await body(call);
    return ingestOne(call, () => readStructured(bytes, { start: skipSpace(bytes, 0), end: bytes.length }, cloudEvents));
  }
  if (isBinaryMode(call.request.headers)) {
    const bytes = await body(call);
    return ingestOne(call, () => readBinary(call.request.headers, bytes, cloudEvents));
  }
  if (type === null || type === "application/json" || type.endsWith("+json")) return ingestJson(call);
  throw new DomainError("unsupported-media-type", `${type} is not read here: send JSON, NDJSON or a CloudEvent`, {
    fields: [{ field: "content-type", detail: `use application/json, ${NDJSON[0]} or ${CLOUDEVENT}` }],
  });
}

function assertPlain(request: Request): void {
  const coding = request.headers.get("content-encoding") ?? "identity";
  if (coding === "identity") return;
  throw new DomainError("unsupported-media-type", `content-encoding ${coding} is not read here: send it uncompressed`, {
    fields: [{ field: "content-encoding", detail: "leave it out" }],
  });
}

function body(call: IngestCall): Promise<Buffer> {
  return readBytes(call.request, call.deps.env.requestBytesMax);
}

function limitsOf({ deps }: IngestCall): ArrivalLimits {
  return { payloadBytesMax: deps.env.payloadBytesMax, headersMax: deps.env.headersMax };
}

function cloudEventOptions(call: IngestCall): CloudEventOptions {
  return { ...limitsOf(call), source: call.query.source ?? call.request.headers.get("x-parkade-source") };
}

/** One event in our JSON, an array of them, or `{ events: [...] }`. */
async function ingestJson(call: IngestCall): Promise<ParkAnswer> {
  const bytes = await body(call);
  const options = { ...limitsOf(call), defaultSource: call.query.source };
  const read = (span: Span) => readEventIn(bytes, span, options);
  const start = skipSpace(bytes, 0);
  if (isArrayAt(bytes, start)) return ingestEach(call, arrayIn(bytes), read);
  if (!isObjectAt(bytes, start)) throw invalidJson("The body is no JSON object or array");
  const members = syntax(() => membersOf(bytes, start).members);
  const events = members.findLast((member) => member.key === "events");
  if (events && !members.some((member) => member.key === "eventId")) {
    if (!isArrayAt(bytes, events.start)) {
      throw new DomainError("invalid-request", "events must be a list", {
        fields: [{ field: "events", detail: "must be a list of events" }],
      });
    }
    const spans = syntax(() => elementsOf(bytes, events.start).elements);
    return ingestEach(call, spans, read);
  }
  const end = syntax(() => wholeValue(bytes, start));
  return ingestOne(call, () => read({ start, end }));
}

function arrayIn(bytes: Uint8Array): Span[] {
  const start = skipSpace(bytes, 0);
  if (!isArrayAt(bytes, start)) throw invalidJson("The body is no JSON array");
  return syntax(() => {
    wholeValue(bytes, start);
    return elementsOf(bytes, start).elements;
  });
}

/** The end of the one value of the body. */
function wholeValue(bytes: Uint8Array, start: number): number {
  const end = endOfValue(bytes, start);
  const rest = skipSpace(bytes, end);
  if (rest < bytes.length) throw new JsonSyntax(rest, "something follows the value");
  return end;
}

function syntax<T>(scan: () => T): T {
  try {
    return scan();
  } catch (error) {
    if (error instanceof JsonSyntax) throw invalidJson(`The body is not JSON: at byte ${error.at}, ${error.message}`);
    throw error;
  }
}

function invalidJson(detail: string): DomainError {
  return new DomainError("invalid-json", detail);
}

async function ingestOne(call: IngestCall, read: () => Arrival): Promise<ParkAnswer> {
  const intake = new Intake(call.deps, call.actor);
  await intake.take(read);
  const answer = await intake.finish();
  if (answer.rejected[0]) throw asProblem(answer.rejected[0]);
  return answer;
}

function asProblem({ code, detail, field }: Rejection): DomainError {
  return new DomainError(code, detail, field === undefined ? {} : { fields: [{ field, detail }] });
}

async function ingestEach(call: IngestCall, spans: Span[], read: (span: Span) => Arrival): Promise<ParkAnswer> {
  const intake = new Intake(call.deps, call.actor);
  for (const span of spans) await intake.take(() => read(span));
  return intake.finish();
}

/** A stream of any length: what is held is a line, and two batches. */
async function ingestLines(call: IngestCall): Promise<ParkAnswer> {
  const limits = limitsOf(call);
  const options = { ...limits, defaultSource: call.query.source };
  const intake = new Intake(call.deps, call.actor, { streams: true });
  const lineBytesMax = limits.payloadBytesMax * 2 + ENVELOPE_BYTES_MAX;
  try {
    for await (const lines of linesOf(call.request.body ?? emptyBody(), lineBytesMax)) {
      for (const line of lines) {
        const full = intake.take(() => {
          if ("tooLong" in line) throw new Refused(tooLong(lineBytesMax));
          return readLine(line.bytes, options);
        });
        if (full) await full;
      }
    }
    return await intake.finish();
  } catch (error) {
    throw await intake.interrupted(error);
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

function tooLong(bytesMax: number): Rejection {
  return { code: "payload-too-large", detail: `The line is longer than ${bytesMax} bytes` };
}

function readLine(bytes: Uint8Array, options: Parameters<typeof readEventIn>[2]): Arrival {
  try {
    const start = skipSpace(bytes, 0);
    return readEventIn(bytes, { start, end: wholeValue(bytes, start) }, options);
  } catch (error) {
    if (!(error instanceof JsonSyntax)) throw error;
    throw new Refused({ code: "invalid-json", detail: `The line is not JSON: at byte ${error.at}, ${error.message}` });
  }
}
