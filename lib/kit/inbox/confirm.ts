import { type InsertOptions, insertOutbox } from "@/lib/kit/outbox/insert";
import { headerText, type MessageHeader } from "@/lib/kit/outbox/message";
import type { SqlSession } from "@/lib/kit/sql";

/** The destination of confirmations in the outbox, see `parkadeTransport`. */
export const CONFIRM_DESTINATION = "parkade:confirm";

export type Confirmation = { source: string; eventId: string; consumer: string };

/**
 * Says to Parkade, if this transaction commits, that the consumer has processed the event: Parkade counts its redrive as
 * confirmed and does not send it again. Only parked events need it, see `isRedriven`.
 */
export async function confirmProcessed(
  tx: SqlSession,
  confirmation: Confirmation,
  options?: InsertOptions,
): Promise<void> {
  const event = {
    aggregateType: CONFIRM_DESTINATION,
    aggregateId: `${confirmation.source}/${confirmation.eventId}`,
    eventType: "parkade.confirm",
    destination: CONFIRM_DESTINATION,
    payload: confirmation,
  };
  await insertOutbox(tx, event, options);
}

/** Whether Parkade has sent this message: its events are confirmed, others are not known to it. */
export function isRedriven(headers: readonly MessageHeader[]): boolean {
  return headerText(headers, "x-redrive-id") !== null;
}
