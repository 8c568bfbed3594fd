import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";

const OF_OPERATIONS: ReadonlySet<AlertMessage["event"]> = new Set(["ended", "stands-still"]);

/** The body by Standard Webhooks: a type, a time, and the data. */
export function webhookBody(message: AlertMessage): object {
  const { event, at, ...data } = message;
  return { type: `${OF_OPERATIONS.has(event) ? "operation" : "alert"}.${event}`, timestamp: at, data };
}
