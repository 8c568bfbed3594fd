import { cloudEventOf } from "@/lib/brokers/conventions/cloud-event";
import { knativeFailure } from "@/lib/brokers/conventions/cloudevents.pure";
import { clean, type Reading } from "@/lib/brokers/conventions/convention";
import { readConvention } from "@/lib/brokers/conventions/detect";
import { deriveErrorCode, UNKNOWN_ERROR } from "@/lib/brokers/conventions/error-code";
import { limitedEventId, mapFields } from "@/lib/brokers/conventions/mapping";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { REDRIVE_EVENT_ID, redriveMarkIn } from "@/lib/brokers/conventions/redrive-mark";
import { traceIdIn, traceIdOf } from "@/lib/brokers/conventions/trace";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { type Message, textOrNull } from "@/lib/brokers/message";
import type { Clock } from "@/lib/platform/clock";
import { type DeadLetter, type DeadLetterError, type Origin, recordPlace } from "@/lib/platform/plain/dead-letter.pure";
import { createTurns } from "@/lib/platform/turns";

/** Convention name of a message that its broker's adapter or a parser could not read. */
export const UNREADABLE = "unreadable";

const NO_BODY = new Uint8Array();

/** The content type that is shown for an absent one. The redrive leaves the property absent again. */
function assumedContentType(payload: PayloadJson, body: Uint8Array): string {
  if (payload.isDocument) return "application/json";
  return textOrNull(body) === null ? "application/octet-stream" : "text/plain";
}

const CONTENT_TYPE_HEADERS = ["content-type", "NServiceBus.ContentType"];

function cleanError(error: DeadLetterError): DeadLetterError {
  const part = (text: string | null) => (text === null ? null : clean(text));
  return { type: part(error.type), message: part(error.message), stack: part(error.stack) };
}

function originOf(reading: Reading, outer: Message, original: Message): Origin {
  return {
    ...original.origin,
    ...reading.origin,
    convention: reading.convention,
    deadLetter: outer.origin.deadLetter,
    ...(reading.unread === undefined ? {} : { unread: reading.unread }),
    ...(original.body === null ? { absentBody: true } : {}),
  };
}

/** Reads a message. Pure; throws only on a defect of a parser. */
export function readMessage(outer: Message, mapping: Mapping): DeadLetter {
  const reading = readConvention(outer);
  const original = reading.inner ?? outer;
  const { headers } = original;
  const body = original.body ?? NO_BODY;
  const payload = new PayloadJson(body);
  const stated = original.contentType ?? headers.firstText(CONTENT_TYPE_HEADERS);
  const assumed = stated === null ? assumedContentType(payload, body) : null;
  const cloudEvent = cloudEventOf(headers, stated, payload);
  const knative = cloudEvent && knativeFailure(cloudEvent);
  const fields = mapFields(mapping, { message: original, payload, cloudEvent, reading });
  const redrive = redriveMarkIn(headers);
  const markedId = redrive === null ? null : limitedEventId(headers.text(REDRIVE_EVENT_ID));
  const origin = originOf(reading, outer, original);
  const failedRecord = redrive === null && fields.eventId === null ? recordPlace(origin) : null;
  return {
    eventId: markedId ?? fields.eventId ?? limitedEventId(outer.ownId())!,
    ...(fields.producer === undefined ? {} : { producer: fields.producer }),
    aggregateType: fields.aggregateType,
    aggregateId: fields.aggregateId,
    version: fields.version,
    eventType: fields.eventType,
    traceId: traceIdIn(headers) ?? traceIdOf(cloudEvent?.get("traceparent") ?? null),
    errorCode: fields.errorCode ?? knative?.errorCode ?? deriveErrorCode(reading.exceptionTypes, reading.reason),
    error: cleanError({ ...reading.error, message: reading.error.message ?? knative?.message ?? null }),
    attempts: reading.attempts,
    failedAtMs: reading.failedAtMs,
    payload: body,
    contentType: stated ?? assumed!,
    headers: original.storedHeaders(),
    tags: fields.tags,
    origin: assumed === null ? origin : { ...origin, contentTypeAssumed: assumed },
    redrive,
    ...(failedRecord === null ? {} : { failedRecord }),
  };
}

type Unreadable = Pick<Message, "body" | "origin" | "ownId"> & {
  problem: string;
  headers: DeadLetter["headers"];
};

/** A message that cannot be read, parked raw, so that it is not lost and does not block its queue. */
export function unreadable({ body, origin, ownId, problem, headers }: Unreadable): DeadLetter {
  return {
    eventId: limitedEventId(ownId())!,
    aggregateType: null,
    aggregateId: null,
    version: null,
    eventType: null,
    traceId: null,
    errorCode: UNKNOWN_ERROR,
    error: { type: null, message: `the message could not be read: ${clean(problem)}`, stack: null },
    attempts: 0,
    failedAtMs: null,
    payload: body ?? NO_BODY,
    contentType: "application/octet-stream",
    headers,
    tags: {},
    origin: { ...origin, convention: UNREADABLE },
    redrive: null,
  };
}

/** Longer, and the answers of the store to the batch before would wait for this one to be read. */
const READ_MS = 1;

/** The dead letters of a batch, in short turns with other work of the process. */
export async function readInTurns<One, Read>(
  batch: readonly One[],
  read: (one: One) => Read,
  clock: Pick<Clock, "nowMs">,
): Promise<Read[]> {
  const turns = createTurns(clock, READ_MS);
  const letters: Read[] = [];
  for (const one of batch) {
    if (turns.due()) await turns.give();
    letters.push(read(one));
  }
  return letters;
}

/** Any message as DeadLetter. A message that a parser fails on is parked raw. */
export function readDeadLetter(message: Message, mapping: Mapping): DeadLetter {
  try {
    return readMessage(message, mapping);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return unreadable({ ...message, ownId: () => message.ownId(), problem, headers: message.storedHeaders() });
  }
}
