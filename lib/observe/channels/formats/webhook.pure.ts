import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";

/** The body by Standard Webhooks: a type, a time, and the data. */
export function webhookBody(message: AlertMessage): object {
  const { event, at, ...data } = message;
  return { type: `alert.${event}`, timestamp: at, data };
}
