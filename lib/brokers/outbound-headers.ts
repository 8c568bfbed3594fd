import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { RETRY_COUNT, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import { headerBytes } from "@/lib/brokers/message";
import type { OutboundMessage, ParkedHeaders } from "@/lib/brokers/port";

const NAME_CHARS_MAX = 100;

/** A header's name as a person reads it: it may hold anything. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX)}…` : name);
}

/** Headers that a wire with unique names sends once: which value it sends is in `beside`, as `the first value`. */
export function repeatedHeaders({ headers, origin }: ParkedHeaders, beside: string): string[] {
  const names = stripFailureHeaders(headers, origin.convention).map(([name]) => name);
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) < index));
  return [...repeated].map((name) => `${quotedName(name)} beside ${beside}`);
}

/** The headers of a message that goes where there are none, as into a job: all but what Parkade writes there itself. */
export function everyHeader({ headers, origin }: ParkedHeaders): string[] {
  const names = stripFailureHeaders(headers, origin.convention).map(([name]) => name);
  return [...new Set(names.filter((name) => name.toLowerCase() !== RETRY_COUNT))].map(quotedName);
}

export type WireHeader = [name: string, value: Buffer | null];

/** The application's headers in order, without those of the failure; the content type if one was stated; the mark of the redrive. */
export function outboundHeaders(message: OutboundMessage): WireHeader[] {
  const { contentType, origin, retryCount = 0 } = message;
  const own = stripFailureHeaders(message.headers, origin.convention)
    .filter(([name]) => retryCount === 0 || name.toLowerCase() !== RETRY_COUNT)
    .map((header): WireHeader => [header[0], headerBytes(header)]);
  const stated = contentType !== "" && contentType !== origin.contentTypeAssumed;
  const parked = own.find(([name]) => name.toLowerCase() === "content-type");
  if (stated && parked !== undefined) parked[1] = Buffer.from(contentType);
  const marks = Object.entries({
    ...(stated && parked === undefined ? { "content-type": contentType } : {}),
    ...redriveMarks(message),
  });
  return [...own, ...marks.map(([name, value]): WireHeader => [name, Buffer.from(value)])];
}
