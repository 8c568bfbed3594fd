import { createHash } from "node:crypto";
import type { CloudEventAttributes } from "@/lib/brokers/conventions/cloud-event";
import { clean, type Reading } from "@/lib/brokers/conventions/convention";
import { int32Of, int64Of } from "@/lib/brokers/conventions/kafka/java-bytes";
import type { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import type { Message } from "@/lib/brokers/message";
import { VERSION_MAX } from "@/lib/platform/plain/dead-letter.pure";

/** All parts of a message that a mapping may read. `message` is the original one, unwrapped. */
type MappingInput = {
  message: Message;
  payload: PayloadJson;
  cloudEvent: CloudEventAttributes | null;
  reading: Reading;
};

type MappedFields = {
  /** null: the message carries no id of any kind. */
  eventId: string | null;
  /** Within which the id is unique; absent = in the source. */
  producer?: string;
  aggregateType: string | null;
  aggregateId: string | null;
  version: bigint | null;
  eventType: string | null;
  /** null: the consumer wrote none; derive it. */
  errorCode: string | null;
  tags: Record<string, string>;
};

const AGGREGATE_ID_HEADERS = ["aggregate-id", "x-aggregate-id", "aggregateid", "aggregate_id"];
const AGGREGATE_TYPE_HEADERS = ["aggregate-type", "x-aggregate-type", "aggregatetype", "aggregate_type"];
const VERSION_HEADERS = ["aggregate-version", "x-aggregate-version", "aggregateversion", "aggregate_version"];
const EVENT_TYPE_HEADERS = ["event-type", "x-event-type", "eventtype", "event_type"];
const ERROR_CODE_HEADERS = ["x-error-code", "error-code", "errorcode", "error_code"];
const EVENT_ID_HEADERS = ["idempotency-key", "event-id", "x-event-id", "eventid", "event_id"];
/** Debezium's outbox router writes the event id under this bare name. */
const DEBEZIUM_ID_HEADER = "id";

/** Where a field of the business object may be: in the body itself, CloudEvents `data`, MassTransit's envelope. */
const inPayload = (field: string) => ["", "/data", "/message"].map((root) => `${root}/${field}`);
const AGGREGATE_ID_POINTERS = inPayload("aggregateId");
const AGGREGATE_TYPE_POINTERS = inPayload("aggregateType");
const VERSION_POINTERS = inPayload("version");
const EVENT_TYPE_POINTERS = inPayload("eventType");

/** Index entries have a size limit. */
const ID_CHARS_MAX = 400;
const CODE_CHARS_MAX = 100;
const TAG_CHARS_MAX = 256;

/** `Idempotency-Key` is a structured-field string: its draft demands quotes, many clients send none. */
function unquoted(text: string): string {
  const match = /^"(.*)"$/.exec(text.trim());
  return match === null ? text.trim() : match[1]!.replace(/\\(["\\])/g, "$1");
}

/** Spring writes these as 4 or 8 bytes, of which some happen to be text. */
const SPRING_NUMBER = /^(?:kafka_dlt-original-|kafka_original-|x-original-)(?:partition|offset|timestamp)$/i;

/** `/json/pointer` into the payload, `property:correlationId`, else a header name. */
function select(selector: string, { message, payload }: Pick<MappingInput, "message" | "payload">): string | null {
  if (selector.startsWith("/")) return payload.scalar(selector);
  if (selector.startsWith("property:")) return message.property(selector.slice("property:".length));
  const value = message.headers.value(selector);
  const number = SPRING_NUMBER.test(selector) ? (int64Of(value) ?? int32Of(value)) : null;
  return number === null ? message.headers.text(selector) : String(number);
}

function fromPayload({ payload }: MappingInput, pointers: readonly string[]): string | null {
  for (const pointer of pointers) {
    const value = payload.scalar(pointer);
    if (value !== null) return value;
  }
  return null;
}

/** A decimal integer that is a version; null otherwise. */
function versionOf(text: string | null): bigint | null {
  if (text === null || !/^-?\d{1,19}$/.test(text.trim())) return null;
  const version = BigInt(text.trim());
  return version <= VERSION_MAX && version >= -VERSION_MAX ? version : null;
}

function limited(text: string | null, charsMax: number): string | null {
  const trimmed = text === null ? "" : clean(text).trim();
  return trimmed === "" ? null : trimmed.slice(0, charsMax).toWellFormed();
}

/** Cutting an event id would make two events one, so a long one keeps its start and gets a hash of all of it. */
export function limitedEventId(text: string | null): string | null {
  const trimmed = text === null ? "" : clean(text).trim();
  if (trimmed.length <= ID_CHARS_MAX) return trimmed === "" ? null : trimmed;
  const start = trimmed.slice(0, ID_CHARS_MAX / 2).toWellFormed();
  return `${start}~${createHash("sha256").update(trimmed).digest("hex")}`;
}

function identityOf(input: MappingInput): Pick<MappedFields, "eventId" | "producer"> {
  const { cloudEvent, reading, message } = input;
  const { headers } = message;
  const identity = (id: string | null, producer: string | null = null) => ({
    eventId: limitedEventId(id),
    ...(producer === null ? {} : { producer: clean(producer) }),
  });
  if (cloudEvent !== null) return identity(cloudEvent.get("id")!, cloudEvent.get("source")!);
  const idempotencyOrId = headers.firstText(EVENT_ID_HEADERS);
  const own = idempotencyOrId === null ? headers.text(DEBEZIUM_ID_HEADER) : unquoted(idempotencyOrId);
  if (own !== null) return identity(own);
  const messageId = reading.messageId ?? message.messageId;
  return identity(messageId, messageId === null ? null : reading.within);
}

function aggregateIdOf(input: MappingInput): string | null {
  const { cloudEvent, message } = input;
  return (
    message.headers.firstText(AGGREGATE_ID_HEADERS) ??
    cloudEvent?.get("aggregateid") ??
    cloudEvent?.get("partitionkey") ??
    cloudEvent?.get("subject") ??
    fromPayload(input, AGGREGATE_ID_POINTERS) ??
    message.orderKey
  );
}

function eventTypeOf(input: MappingInput): string | null {
  const { cloudEvent, reading, message, payload } = input;
  const { headers } = message;
  const envelope = payload.value("/messageType/0"); // MassTransit
  return (
    cloudEvent?.get("type") ??
    headers.firstText(EVENT_TYPE_HEADERS) ??
    reading.eventType ??
    message.type ??
    headers.text("__TypeId__") ??
    (typeof envelope === "string" ? envelope : null) ??
    fromPayload(input, EVENT_TYPE_POINTERS)
  );
}

/** Facts of the business event in standard attributes and customary headers, the payload last. Absent facts are null. */
function customaryFields(input: MappingInput): MappedFields {
  const { cloudEvent } = input;
  const { headers } = input.message;
  return {
    ...identityOf(input),
    aggregateType: limited(
      headers.firstText(AGGREGATE_TYPE_HEADERS) ??
        cloudEvent?.get("aggregatetype") ??
        fromPayload(input, AGGREGATE_TYPE_POINTERS),
      ID_CHARS_MAX,
    ),
    aggregateId: limited(aggregateIdOf(input), ID_CHARS_MAX),
    version: versionOf(
      headers.firstText(VERSION_HEADERS) ?? cloudEvent?.get("aggregateversion") ?? fromPayload(input, VERSION_POINTERS),
    ),
    eventType: limited(eventTypeOf(input), ID_CHARS_MAX),
    errorCode: limited(headers.firstText(ERROR_CODE_HEADERS) ?? cloudEvent?.get("errorcode") ?? null, CODE_CHARS_MAX),
    tags: {},
  };
}

/** The facts that a source's mapping finds override the customary ones. `find`: the text at a selector, or null. */
export function applyMapping<Facts extends MappedFields>(
  mapping: Mapping,
  find: (selector: string) => string | null,
  customary: Facts,
): Facts {
  const found = (selector: string | undefined) => (selector === undefined ? null : find(selector));
  const version = found(mapping.version);
  const eventId = limitedEventId(found(mapping.eventId));
  const tags: Record<string, string> = {};
  for (const [key, selector] of Object.entries(mapping.tags ?? {})) {
    const value = limited(find(selector), TAG_CHARS_MAX);
    if (value !== null) tags[key] = value;
  }
  return {
    ...customary,
    // Another id that the source's owner has named is unique as they say: no convention adds to it.
    ...(eventId === null || eventId === customary.eventId ? {} : { eventId, producer: undefined }),
    aggregateType: limited(found(mapping.aggregateType), ID_CHARS_MAX) ?? customary.aggregateType,
    aggregateId: limited(found(mapping.aggregateId), ID_CHARS_MAX) ?? customary.aggregateId,
    version: version === null ? customary.version : versionOf(version),
    eventType: limited(found(mapping.eventType), ID_CHARS_MAX) ?? customary.eventType,
    errorCode: limited(found(mapping.errorCode), CODE_CHARS_MAX) ?? customary.errorCode,
    tags,
  };
}

export function mapFields(mapping: Mapping, input: MappingInput): MappedFields {
  return applyMapping(mapping, (selector) => select(selector, input), customaryFields(input));
}
