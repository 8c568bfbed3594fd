import { type InsertOptions, insertOutbox } from "@/lib/kit/outbox/insert";
import type { SqlSession } from "@/lib/kit/sql";

/** The destination of confirmations in the outbox, see `parkadeTransport`. */
export const CONFIRM_DESTINATION = "parkade:confirm";

/** `producer`: within which the id is unique, the `source` of a CloudEvent; absent = it is unique in the source. */
export type Confirmation = { source: string; producer?: string; eventId: string; consumer: string };

/** Confirms, if this transaction commits, that the event was processed, so that Parkade sends it no more. See `isRedriven`. */
export async function confirmProcessed(
  tx: SqlSession,
  confirmation: Confirmation,
  options?: InsertOptions,
): Promise<void> {
  const event = {
    aggregateType: CONFIRM_DESTINATION,
    aggregateId: [confirmation.source, confirmation.producer, confirmation.eventId]
      .filter((part) => part !== undefined)
      .join("/"),
    eventType: "parkade.confirm",
    destination: CONFIRM_DESTINATION,
    payload: confirmation,
  };
  await insertOutbox(tx, event, options);
}

/** Headers of any broker or of HTTP: pairs with text or bytes, an object by name, or `Headers` of fetch. */
export type AnyHeaders =
  | Iterable<readonly [name: string, value: Uint8Array | string | null | undefined]>
  | Readonly<Record<string, Uint8Array | string | readonly string[] | null | undefined>>;

/** The first value of a header as text; null when there is none. */
export function headerValue(headers: AnyHeaders, name: string): string | null {
  const pairs =
    Symbol.iterator in headers ? (headers as Iterable<readonly [string, unknown]>) : Object.entries(headers);
  for (const [each, value] of pairs) {
    const first = Array.isArray(value) ? value[0] : value;
    if (each.toLowerCase() !== name || first === null || first === undefined) continue;
    return typeof first === "string" ? first : Buffer.from(first as Uint8Array).toString("utf8");
  }
  return null;
}

/** Whether Parkade has sent this message: its events are confirmed, others are not known to it. */
export function isRedriven(headers: AnyHeaders): boolean {
  return headerValue(headers, "x-redrive-id") !== null;
}
