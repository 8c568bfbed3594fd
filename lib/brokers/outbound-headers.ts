import { stripFailureHeaders } from "@/lib/brokers/conventions/detect";
import { RETRY_COUNT, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import { headerBytes } from "@/lib/brokers/message";
import type { OutboundMessage } from "@/lib/brokers/port";

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
