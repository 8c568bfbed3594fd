import { isStorableText, TEXT_MAX } from "@/lib/platform/plain/storable.pure";

/** How CloudEvents 1.0 (https://github.com/cloudevents/spec) names its parts in messages. */

/** The media type of one event in structured mode. */
export const STRUCTURED_CLOUDEVENT = "application/cloudevents+json";

export function isStructuredCloudEvent(contentType: string): boolean {
  return contentType.toLowerCase().startsWith(STRUCTURED_CLOUDEVENT);
}

/** Prefixes of attributes in binary mode: of AMQP, Kafka, and HTTP and NATS. The first one found in a message counts. */
export const ATTRIBUTE_PREFIXES = ["cloudevents:", "cloudevents_", "ce_", "ce-"] as const;
type Prefix = (typeof ATTRIBUTE_PREFIXES)[number];

/** The HTTP prefix: its values are percent-encoded. */
export const HTTP_PREFIX = "ce-" satisfies Prefix;

export const ATTRIBUTE_NAME = /^[a-z0-9]{1,64}$/;

/** The attribute that a header holds in binary mode; null = not an attribute. */
export function attributeOf(headerName: string): { prefix: Prefix; name: string } | null {
  const key = headerName.toLowerCase();
  const prefix = ATTRIBUTE_PREFIXES.find((one) => key.startsWith(one));
  const name = prefix === undefined ? "" : key.slice(prefix.length);
  return prefix === undefined || !ATTRIBUTE_NAME.test(name) ? null : { prefix, name };
}

/**
 * The attributes by which Knative says why an event went to its dead letter sink: the destination, the HTTP status and the body of
 * the last answer (https://knative.dev/docs/eventing/event-delivery). All of them may be missing.
 */
export const KNATIVE_ERROR = {
  destination: "knativeerrordest",
  status: "knativeerrorcode",
  data: "knativeerrordata",
} as const;

type Failure = { errorCode: string | null; message: string | null };

/** The code is `HTTP_500` for the status 500, and any other word unchanged. */
export function knativeFailure(attributes: ReadonlyMap<string, string>): Failure {
  const status = attributes.get(KNATIVE_ERROR.status)?.trim() ?? "";
  const destination = attributes.get(KNATIVE_ERROR.destination);
  const isStatus = /^[1-5]\d\d$/.test(status);
  const answer = answerOf(attributes.get(KNATIVE_ERROR.data)?.trim() ?? "");
  const failed = isStatus ? `HTTP ${status}` : "Delivery failed";
  const message = answer || (destination ? `${failed}: ${destination}` : "");
  return {
    errorCode: (isStatus ? `HTTP_${status}` : status.slice(0, TEXT_MAX.errorCode)) || null,
    message: message.slice(0, TEXT_MAX.errorMessage) || null,
  };
}

/** Knative writes the body in base64, older versions as text. It may be cut within a character. */
function answerOf(data: string): string {
  if (!/^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$|^[A-Za-z0-9+/]{2,3}={1,2}$/.test(data))
    return data;
  try {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    // Letters without a space are base64 as well: what decodes to control characters was text.
    return isStorableText(text) && !/[^\P{Cc}\t\n\r]/u.test(text) ? text : data;
  } catch {
    return data;
  }
}
