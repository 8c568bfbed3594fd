import type { HeaderView } from "@/lib/brokers/message";
import { deadLetterPlace, type Origin, type RedriveMark } from "@/lib/platform/plain/dead-letter.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/** Written on every redrive, read back when the message is parked again. */
export const REDRIVE_ID = "x-redrive-id";
export const REDRIVE_ATTEMPT = "x-redrive-attempt";
export const REDRIVE_FROM = "x-redrive-from";
/** Event id of the message, so that a bounce is the same event even without an id of its own or after an edit. */
export const REDRIVE_EVENT_ID = "x-redrive-event-id";

/** Revision of the event's bytes, unless it is the first. Consumers that remember refusals need it together with the event id. */
export const REDRIVE_REVISION = "x-redrive-revision";

/** Where the message was before it was dead-lettered, for tracing: `orders/3/330`, `orders/m-17`, `ORDERS/17`. */
export const REDRIVE_ORIGIN = "x-redrive-origin";

/** Names of topics and ids of messages are far shorter; who parks over HTTP may write anything. */
export const ORIGIN_BYTES_MAX = 1_024;
const CUT = "...(cut)";

/**
 * Topic, partition and offset; stream and sequence or id; table and row; queue and message or job; subscription. null = unknown.
 * An origin that is not formed as its broker forms it is read as far as it can be: no send fails by it.
 */
export function originText(origin: Origin): string | null {
  const { topic, partition, offset, stream, streamSequence, table, rowId, queue, subscription } = origin;
  const letter = deadLetterPlace(origin);
  const parts = [
    [topic, partition, offset],
    [stream, streamSequence ?? (letter.stream === stream ? letter.id : undefined)],
    [table, rowId],
    [queue, messageIdOf(origin)],
    [subscription],
  ].find(([first]) => typeof first === "string" && first !== "");
  if (parts === undefined) return null;
  return bounded(
    parts
      .map(partText)
      .filter((part) => part !== "")
      .join("/"),
  );
}

/** The id of a job of BullMQ, the broker's own of SQS, the application's of AMQP. */
function messageIdOf({ job, properties }: Origin): unknown {
  const { MessageId, messageId } = properties ?? {};
  return (job as { id?: unknown } | null | undefined)?.id ?? MessageId ?? messageId;
}

/** Controls, line ends and characters that are not seen go percent-encoded: no header can carry all of them. */
function partText(part: unknown): string {
  if (typeof part === "number" || typeof part === "bigint") return String(part);
  if (typeof part !== "string") return "";
  // Nearly always: the expression below costs more than the rest of a header.
  if (/^[\x20-\x7e]*$/.test(part)) return part;
  return part.toWellFormed().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, encodeURIComponent);
}

function bounded(text: string): string {
  if (text.length * 3 <= ORIGIN_BYTES_MAX) return text;
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= ORIGIN_BYTES_MAX) return text;
  let end = ORIGIN_BYTES_MAX - CUT.length;
  // Not within a character.
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end) + CUT;
}

/** The marks that not every message has. The first revision goes out as it came. */
export function furtherMarks({
  revision = 1,
  origin,
}: {
  revision?: number;
  origin?: Origin;
}): [name: string, value: string][] {
  const from = origin === undefined ? null : originText(origin);
  return [
    ...(revision === 1 ? [] : [[REDRIVE_REVISION, String(revision)] as [string, string]]),
    ...(from === null ? [] : [[REDRIVE_ORIGIN, from] as [string, string]]),
  ];
}

/** How often a message has been repeated on its way, over all layers. Each redrive adds its own repeats to it. */
export const RETRY_COUNT = "x-retry-count";

/** The headers by which a message that Parkade sends is known when it is parked again. */
export function redriveMarks({
  redriveId,
  attempt,
  from,
  eventId,
  revision,
  origin,
  retryCount = 0,
}: {
  redriveId: string;
  attempt: number;
  from: string;
  eventId: string;
  revision?: number;
  origin?: Origin;
  retryCount?: number;
}): Record<string, string> {
  return {
    [REDRIVE_ID]: redriveId,
    [REDRIVE_ATTEMPT]: String(attempt),
    [REDRIVE_FROM]: from,
    [REDRIVE_EVENT_ID]: eventId,
    ...Object.fromEntries(furtherMarks({ revision, origin })),
    ...(retryCount > 0 ? { [RETRY_COUNT]: String(retryCount) } : {}),
  };
}

export function isRedriveHeader(headerName: string): boolean {
  return headerName.startsWith("x-redrive-");
}

/** null: Parkade did not send it. An id that is no UUID was not written by Parkade, and is ignored. */
export function redriveMarkIn(headers: HeaderView): RedriveMark | null {
  const redriveId = headers.text(REDRIVE_ID)?.trim() ?? "";
  if (!UUID.test(redriveId)) return null;
  return { redriveId: redriveId.toLowerCase(), attempt: Math.max(headers.count(REDRIVE_ATTEMPT) ?? 1, 1) };
}
