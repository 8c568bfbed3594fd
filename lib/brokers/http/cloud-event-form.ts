import { attributeOf, HTTP_PREFIX, STRUCTURED_CLOUDEVENT } from "@/lib/brokers/conventions/cloudevents.pure";
import { textOrNull } from "@/lib/brokers/message";
import type { OutboundMessage } from "@/lib/brokers/port";
import { decodeHeader, encodeHeader } from "@/lib/intake/cloudevents.shapes";
import { type Header, headerText } from "@/lib/platform/plain/dead-letter.pure";
import { isJson } from "@/lib/platform/plain/json-text.pure";

const CONTENT_ENCODING = "content-encoding";

type CloudEventFormat = "cloudevents-binary" | "cloudevents-structured";

/** The message as a CloudEvent, with its parked attributes or with those known of the event. A structured CloudEvent stays as it is. */
export function asCloudEvent(message: OutboundMessage, format: CloudEventFormat): OutboundMessage {
  if (message.contentType.toLowerCase().startsWith("application/cloudevents")) return message;
  const attributes = new Map<string, string>();
  const others: Header[] = [];
  for (const header of message.headers) {
    const attribute = attributeOf(header[0]);
    const text = attribute === null ? null : headerText(header);
    if (attribute === null) others.push(header);
    else if (text !== null)
      attributes.set(attribute.name, attribute.prefix === HTTP_PREFIX ? decodeHeader(header[0], text) : text);
  }
  attributes.delete("datacontenttype"); // stated by the body itself
  const complete = ["id", "source", "type"].every((name) => attributes.get(name));
  if (!complete)
    for (const [name, value] of ownAttributes(message)) if (!attributes.get(name)) attributes.set(name, value);
  attributes.set("specversion", "1.0");
  if (format === "cloudevents-structured") {
    // As a header it would be said of the whole event, which is plain JSON.
    const encoding = others.findIndex(([name]) => name.toLowerCase() === CONTENT_ENCODING);
    if (encoding >= 0) attributes.set("contentencoding", headerText(others.splice(encoding, 1)[0]!) ?? "");
    return { ...message, headers: others, contentType: STRUCTURED_CLOUDEVENT, payload: envelope(message, attributes) };
  }
  const headers = [...attributes].map(([name, value]): Header => [`${HTTP_PREFIX}${name}`, encodeHeader(value)]);
  return { ...message, headers: [...others, ...headers] };
}

/** `source` is a URI reference, so the name of Parkade's source is encoded. */
function ownAttributes({ eventId, from, eventType, aggregateId }: OutboundMessage): [string, string][] {
  return [
    ["id", eventId],
    ["source", encodeURIComponent(from)],
    ["type", eventType ?? "unknown"],
    ...(aggregateId ? ([["partitionkey", aggregateId]] satisfies [string, string][]) : []),
  ];
}

/** JSON stands in the event as it was parked, byte for byte; other text is a text, anything else base64. */
function envelope({ payload, contentType, origin }: OutboundMessage, attributes: Map<string, string>): Uint8Array {
  const stated = contentType === "" ? [] : [["datacontenttype", contentType] as const];
  const members = [...attributes, ...stated].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const open = `{${members.join(",")}`;
  if (origin.absentBody === true && payload.byteLength === 0) return Buffer.from(`${open}}`);
  const text = textOrNull(payload);
  const json = /^[^;]*[/+]json\s*(;|$)/i.test(contentType);
  if (text !== null && json && isJson(text))
    return Buffer.concat([Buffer.from(`${open},"data":`), payload, Buffer.from("}")]);
  if (text !== null && !json && contentType !== "") return Buffer.from(`${open},"data":${JSON.stringify(text)}}`);
  // Its producer sent none: `data` is optional.
  if (payload.byteLength === 0) return Buffer.from(`${open}}`);
  return Buffer.from(`${open},"data_base64":"${Buffer.from(payload).toString("base64")}"}`);
}
