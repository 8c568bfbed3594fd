import { ATTEMPTS_MAX, isStorableText, TAGS_MAX, TEXT_MAX } from "@/lib/platform/plain/storable.pure";

/**
 * True when each member of an event has its plain form, as in nearly all events. The event schema, which takes three
 * times as long, accepts everything that this accepts, unchanged; a test compares them. False decides
 * nothing: the schema does, and words the error. For `document`s whose names and sizes were checked.
 */
export function isPlainEnvelope(document: Record<string, unknown>): boolean {
  const { source, eventId, errorCode, attempts, producer } = document;
  return (
    (source === undefined || isKey(source, TEXT_MAX.sourceName)) &&
    isKey(eventId, TEXT_MAX.eventId) &&
    isKey(errorCode, TEXT_MAX.errorCode) &&
    isKeyOrAbsent(producer, TEXT_MAX.producer) &&
    isKeyOrAbsent(document.aggregateId, TEXT_MAX.aggregateId) &&
    isKeyOrAbsent(document.aggregateType, TEXT_MAX.aggregateType) &&
    isKeyOrAbsent(document.eventType, TEXT_MAX.eventType) &&
    isKeyOrAbsent(document.traceId, TEXT_MAX.traceId) &&
    isKeyOrAbsent(document.contentType, TEXT_MAX.contentType) &&
    (isAbsent(attempts) || (Number.isInteger(attempts) && Number(attempts) >= 0 && Number(attempts) <= ATTEMPTS_MAX)) &&
    (isAbsent(document.error) || isError(document.error)) &&
    (isAbsent(document.headers) || isHeaders(document.headers)) &&
    (isAbsent(document.tags) || isTags(document.tags)) &&
    (isAbsent(document.origin) || isObject(document.origin))
  );
}

const isAbsent = (value: unknown) => value === undefined || value === null;

/** A name on the prototype of objects may be lost in a copy. */
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "__proto__");

const isText = (value: unknown, max: number): value is string =>
  typeof value === "string" && value.length <= max && isStorableText(value);
const isKey = (value: unknown, max: number) => isText(value, max) && value.length > 0;
const isKeyOrAbsent = (value: unknown, max: number) => isAbsent(value) || isKey(value, max);
const isTextOrAbsent = (value: unknown, max: number) => isAbsent(value) || isText(value, max);

const ERROR_MAX: ReadonlyMap<string, number> = new Map([
  ["type", TEXT_MAX.errorType],
  ["message", TEXT_MAX.errorMessage],
  ["stack", TEXT_MAX.errorStack],
]);

function isError(error: unknown): boolean {
  if (!isObject(error)) return false;
  for (const name in error) {
    const max = ERROR_MAX.get(name);
    if (max === undefined || !isTextOrAbsent(error[name], max)) return false;
  }
  return true;
}

export const HEADER_MAX = { name: 1_024, value: 65_536 };

function isHeaders(headers: unknown): boolean {
  if (Array.isArray(headers)) return headers.every(isPair);
  if (!isObject(headers)) return false;
  for (const name in headers) if (!isHeader(name, headers[name])) return false;
  return true;
}

const isPair = (header: unknown) => Array.isArray(header) && header.length === 2 && isHeader(header[0], header[1]);
const isHeader = (name: unknown, value: unknown) =>
  isKey(name, HEADER_MAX.name) && (value === null || isText(value, HEADER_MAX.value));

function isTags(tags: unknown): boolean {
  if (!isObject(tags)) return false;
  let count = 0;
  for (const name in tags) {
    if (++count > TAGS_MAX || !isKey(name, TEXT_MAX.tagKey) || !isText(tags[name], TEXT_MAX.tagValue)) return false;
  }
  return true;
}
