import type { AlertMessage } from "@/lib/observe/channels/alert-message.pure";
import { BY_NAME, channelKind, envName } from "@/lib/observe/channels/kinds/channel-kind.pure";

export const WEBHOOK = channelKind({
  kind: "webhook",
  name: "Webhook",
  settings: {
    url: { input: "address", label: "address", placeholder: "https://ops.example.com/alerts", hint: "or env:NAME" },
    secret: {
      input: "secret",
      label: "signing secret",
      placeholder: envName("ALERTS"),
      hint: `${BY_NAME}; Standard Webhooks`,
      optional: true,
    },
  },
  oauth: true,
  post(message, { secret }, { id, resolve, sign }) {
    const json = JSON.stringify(webhookBody(message));
    // The id alone lets an unsigned receiver recognise a repeat.
    return { json, headers: secret === undefined ? { "webhook-id": id } : sign(resolve(secret), json) };
  },
});

const OF_OPERATIONS: ReadonlySet<AlertMessage["event"]> = new Set(["ended", "stands-still"]);

/** The body by Standard Webhooks: a type, a time, and the data. */
function webhookBody(message: AlertMessage): object {
  const { event, at, ...data } = message;
  return { type: `${OF_OPERATIONS.has(event) ? "operation" : "alert"}.${event}`, timestamp: at, data };
}
