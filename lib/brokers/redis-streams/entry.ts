import type { Convention } from "@/lib/brokers/conventions/convention";
import { consumerError, generic } from "@/lib/brokers/conventions/generic";
import { type HeaderValue, HeaderView, type Message, storedHeader, textOrNull } from "@/lib/brokers/message";
import { PAYLOAD_FIELDS } from "@/lib/brokers/redis-streams/kind.shapes";
import type { Origin } from "@/lib/platform/plain/dead-letter.pure";

/** An entry of a stream. `fields`: in their order, names may repeat. */
export type Entry = { id: string; fields: [name: Buffer, value: Buffer][] };

/** A reply of XRANGE, XCLAIM, XREADGROUP: entries that were deleted have no fields and are left out. */
export function entriesOf(reply: unknown): Entry[] {
  return ((reply as [Buffer, Buffer[] | null][] | null) ?? []).flatMap((item) => {
    if (item === null || item[1] === null) return [];
    const [id, flat] = item as [Buffer, Buffer[]];
    const fields: Entry["fields"] = [];
    for (let at = 0; at + 1 < flat.length; at += 2) fields.push([flat[at]!, flat[at + 1]!]);
    return [{ id: id.toString(), fields }];
  });
}

/** Where the payload of an entry stands: -1 when no field is one. */
function payloadAt(fields: Entry["fields"], named: string | undefined): number {
  const wanted = named === undefined ? PAYLOAD_FIELDS : [named];
  for (const name of wanted) {
    const at = fields.findIndex(([field]) => field.toString() === name);
    if (at >= 0) return at;
  }
  return -1;
}

/** The time in an entry's id, epoch milliseconds. */
function timeOf(id: string): number | null {
  const ms = Number(id.split("-", 1)[0]);
  return Number.isSafeInteger(ms) ? ms : null;
}

type Read = { stream: string; group: string; payloadField: string | undefined; deliveries: number | null };

/** An entry as the conventions read it: one field is the body, the others are headers. */
export function messageOf({ id, fields }: Entry, { stream, group, payloadField, deliveries }: Read): Message {
  const at = payloadAt(fields, payloadField);
  const others = fields.filter((_, index) => index !== at);
  // A name that is no text cannot be a header: the whole entry is kept as it is, beside.
  const raw = fields.some(([name]) => textOrNull(name) === null)
    ? { rawFields: fields.map((pair) => pair.map((part) => part.toString("base64"))) }
    : {};
  const headers = others.map(([name, value]): [string, Buffer] => [name.toString(), value]);
  const view = new HeaderView(headers as Iterable<[string, HeaderValue]>);
  const facts: Record<string, string | null> = {
    id,
    stream,
    group,
    deliveries: deliveries === null ? null : String(deliveries),
  };
  const origin: Origin = {
    ...(deliveries === null ? {} : { stream, consumer: group }),
    deadLetter: { stream, group, id, storedAtMs: timeOf(id) },
    ...(at < 0 ? {} : { payloadField: fields[at]![0].toString(), payloadAt: at }),
    ...raw,
  };
  return {
    container: stream,
    headers: view,
    storedHeaders: () => headers.map(([name, value]) => storedHeader(name, value)),
    body: at < 0 ? null : fields[at]![1],
    messageId: null,
    type: null,
    contentType: view.text("content-type"),
    sentAtMs: timeOf(id),
    orderKey: null,
    property: (name) => facts[name] ?? null,
    origin,
    ownId: () => `${stream}:${id}`,
  };
}

const ORIGINAL_STREAM = "x-original-stream";

/** An entry that was delivered too often; only the group counts that. x-original-stream may name where it came from. */
export const redisStreamEntry: Convention = {
  name: "redis-stream",
  owns: (headerName) => headerName === ORIGINAL_STREAM || generic.owns(headerName),
  read(message) {
    const deliveries = message.property("deliveries");
    const stream = message.headers.text(ORIGINAL_STREAM);
    const read = generic.read(message)!;
    if (message.property("stream") === null || message.property("group") === null) return null;
    const limit = `delivered ${deliveries} times to ${message.property("group")} without an acknowledgement`;
    return {
      ...read,
      convention: "redis-stream",
      origin: stream === null ? {} : { stream },
      error: { ...consumerError(message.headers), message: read.error.message ?? (deliveries === null ? null : limit) },
      reason: deliveries === null ? null : "delivery_limit",
      attempts: Math.max(read.attempts, Number(deliveries ?? 0)),
    };
  },
};
