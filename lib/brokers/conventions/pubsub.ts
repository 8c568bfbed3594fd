import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError } from "@/lib/brokers/conventions/generic";
import type { Message } from "@/lib/brokers/message";
import { instantMs } from "@/lib/platform/plain/iso-time.pure";

const SOURCE = "CloudPubSubDeadLetterSource";

function read({ headers, sentAtMs, messageId }: Message): Reading | null {
  const subscription = headers.text(`${SOURCE}Subscription`);
  if (subscription === null) return null;
  const project = headers.text(`${SOURCE}SubscriptionProject`);
  const deliveries = headers.count(`${SOURCE}DeliveryCount`) ?? 0;
  const written = consumerError(headers);
  const said = headers.text(`${SOURCE}DeliveryErrorMessage`);
  const publishedAtMs = instantMs(headers.text(`${SOURCE}TopicPublishTime`));
  return {
    convention: "pubsub-dead-letter-policy",
    origin: {
      subscription: project === null ? subscription : `projects/${project}/subscriptions/${subscription}`,
      ...(publishedAtMs === null ? {} : { publishedAtMs }),
    },
    error: {
      ...written,
      message:
        written.message ?? said ?? `not acknowledged on subscription ${subscription} in ${deliveries} deliveries`,
    },
    exceptionTypes: written.type === null ? [] : [written.type],
    reason: "delivery_limit",
    attempts: deliveries,
    // Pub/Sub publishes it to the dead-letter topic when it gives it up.
    failedAtMs: sentAtMs,
    messageId,
    eventType: null,
    inner: null,
  };
}

/** Names the subscription, not its topic. https://docs.cloud.google.com/pubsub/docs/dead-letter-topics */
export const pubsubDeadLetterPolicy: Convention = {
  name: "pubsub-dead-letter-policy",
  owns: (headerName) => headerName.startsWith(SOURCE.toLowerCase()),
  read,
};
