import { isUtf8 } from "node:buffer";
import { type Call, given, idOfProducers, printAnswer } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { factsText, tableText } from "@/lib/cli/table";
import type { EventDetail } from "@/lib/events/events.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatBytes, visible } from "@/lib/platform/plain/format.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

export async function show(call: Call): Promise<number> {
  const { line, api, terminal } = call;
  const event = await findEvent(call, line.arguments[0]!);
  if (line.flag("payload")) {
    const query = new URLSearchParams(given(call, "reason", "revision"));
    const { body } = await api.stream(`api/v1/events/${event.id}/payload`, query);
    if (body) await terminal.pipe(body);
    return EXIT.done;
  }
  return printAnswer(call, event, () => textOf(event, terminal.columns));
}

/** A producer's eventId may be a UUID, too: what is no id of an event is looked for as one. */
export async function findEvent(call: Call, id: string): Promise<EventDetail> {
  const { line, api } = call;
  const source = line.text("source");
  if (source === null && UUID.test(id)) {
    try {
      return await api.get<EventDetail>(`api/v1/events/${id}`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "unknown-event") throw error;
    }
  }
  return api.get<EventDetail>(`api/v1/events/${await idOfProducers(call, id)}`);
}

function textOf(event: EventDetail, columns: number | null): string {
  const { errorDetail, body, headers, history, heldBy, control, group } = event;
  const facts = factsText([
    ["id", event.id],
    ["event", event.eventId],
    ["source", event.source],
    ["status", event.status],
    ["aggregate", event.aggregateId && [event.aggregateType, event.aggregateId].filter(Boolean).join(" ")],
    ["version", event.version],
    ["type", event.eventType],
    ["error code", event.errorCode],
    ["error", [errorDetail.type, errorDetail.message].filter(Boolean).join(": ") || null],
    ["tries", event.attempts || "none known"],
    ["bounces", event.bounces || null],
    ["revision", event.revision === 1 ? null : event.revision],
    ["first seen", event.firstSeen],
    ["cooling until", event.cooldownUntil],
    ["held by", heldBy?.text ?? null],
    ["control", control && `${control.kind} by ${control.createdBy}: ${control.reason}`],
    ["group", group && `${group.pattern} (${group.parked} parked, --fingerprint ${group.fingerprint})`],
    ["trace", event.traceId],
    ...originFacts(event.origin),
    [
      "tags",
      Object.entries(event.tags)
        .map(([key, value]) => `${key}=${value}`)
        .join(" ") || null,
    ],
  ]);
  const decoded = body.decoded?.text == null ? null : body.decoded;
  const sections = [
    ["Stack", indented(errorDetail.stack)],
    ["Headers", factsText(headers.map(([name, value]) => [name, value ?? "(no value)"]))],
    [
      `Payload (${payloadWords(body)})`,
      event.origin.absentBody && body.bytes === 0
        ? "(no body: a tombstone, which is not an empty payload)"
        : (indented(decoded?.text ?? body.text) ?? "(not UTF-8 text: --payload writes the bytes)") || "(empty)",
    ],
    ["History", tableText(history, ["at", ["what", "text"], ["by", "actor"]], columns)],
  ] as const;
  return facts + sections.flatMap(([title, text]) => (text ? [`\n${title}\n${printable(text)}\n`] : [])).join("");
}

/** The decoded text is shown in place of the stored bytes. */
function payloadWords({ contentType, bytes, masked, maskedCount, decoded }: EventDetail["body"]): string {
  const isDecoded = decoded !== null && decoded.text !== null;
  const masks = isDecoded ? decoded.maskedCount !== 0 : masked;
  const whole = (isDecoded ? decoded.maskedCount : maskedCount) === null;
  return [
    contentType,
    formatBytes(bytes),
    ...(isDecoded ? [`decoded from ${decoded.from}`] : []),
    ...(masks ? [whole ? "masked as a whole" : "masked in part"] : []),
  ].join(", ");
}

/** Where the message was: topic, partition, offset, key, queue, exchange, ... as its broker named them. */
function originFacts({ properties, absentBody: _said, key, ...origin }: EventDetail["origin"]): [string, string][] {
  const text = (value: unknown): string =>
    Array.isArray(value) ? value.map(text).join(", ") : typeof value === "string" ? value : JSON.stringify(value);
  const facts = Object.entries({ ...origin, ...properties }).filter(([, value]) => value !== null && value !== "");
  return [
    ...facts.map(([name, value]): [string, string] => [`origin ${name}`, text(value)]),
    ...(key === undefined ? [] : [["origin key", key === null ? "(none)" : keyText(key)] as [string, string]]),
  ];
}

/** The key's own text where it has one. */
function keyText(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  return isUtf8(bytes) ? bytes.toString() : `${base64} (base64)`;
}

/** No line of a producer's text begins where those of Parkade do. */
function indented(text: string | null): string | null {
  return text === null ? null : text.replaceAll("\r", "").replace(/^/gm, "  ");
}

/** Lines of a producer's text: nothing in them moves the cursor. */
function printable(text: string): string {
  return visible(text.replaceAll("\r", "")).trimEnd();
}
