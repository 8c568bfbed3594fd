import { ATTRIBUTE_NAME, ATTRIBUTE_PREFIXES, isStructuredCloudEvent } from "@/lib/brokers/conventions/cloudevents.pure";
import type { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import type { HeaderView } from "@/lib/brokers/message";

/** Context attributes by lower-case name, as text. */
export type CloudEventAttributes = ReadonlyMap<string, string>;

const REQUIRED = ["id", "source", "specversion", "type"];

function binaryAttributes(headers: HeaderView): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const prefix of ATTRIBUTE_PREFIXES) {
    for (const header of headers.names()) {
      if (!header.startsWith(prefix)) continue;
      const name = header.slice(prefix.length);
      const value = headers.text(header);
      if (ATTRIBUTE_NAME.test(name) && value !== null && !attributes.has(name)) attributes.set(name, value);
    }
  }
  return attributes;
}

function structuredAttributes(payload: PayloadJson): Map<string, string> {
  const attributes = new Map<string, string>();
  const document = payload.value("");
  if (typeof document !== "object" || document === null) return attributes;
  for (const key of Object.keys(document)) {
    if (key === "data" || key === "data_base64" || !ATTRIBUTE_NAME.test(key)) continue;
    const value = payload.scalar(`/${key}`);
    if (value !== null) attributes.set(key, value);
  }
  return attributes;
}

/** Attributes of a CloudEvent 1.0, structured mode first; null unless all four required ones are there. https://github.com/cloudevents/spec */
export function cloudEventOf(
  headers: HeaderView,
  contentType: string | null,
  payload: PayloadJson,
): CloudEventAttributes | null {
  const attributes = isStructuredCloudEvent(contentType ?? "")
    ? structuredAttributes(payload)
    : binaryAttributes(headers);
  return REQUIRED.every((name) => attributes.has(name)) ? attributes : null;
}
