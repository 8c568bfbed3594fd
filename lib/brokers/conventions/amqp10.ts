import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError, generic } from "@/lib/brokers/conventions/generic";
import type { Message } from "@/lib/brokers/message";

const REASON = "DeadLetterReason";
const DESCRIPTION = "DeadLetterErrorDescription";
const SUB_QUEUE = /\/\$(?:Transfer\/\$)?DeadLetterQueue$/i;
const SUBSCRIPTION = /\/subscriptions\//i;

/** Reasons that Azure Service Bus itself writes; every other reason is a word of the application. */
const SYSTEM_REASONS: Record<string, string> = {
  MaxDeliveryCountExceeded: "delivery_limit",
  TTLExpiredException: "expired",
};

function readServiceBus(view: Message): Reading | null {
  const reason = view.headers.text(REASON);
  const description = view.headers.text(DESCRIPTION);
  if (!SUB_QUEUE.test(view.container) && reason === null && description === null) return null;
  // The annotation names the entity when the dead letter was forwarded from there.
  const entity = view.property("x-opt-deadletter-source") ?? view.container.replace(SUB_QUEUE, "");
  // Nothing can be sent to a subscription: its topic delivers to every other subscription too.
  const known = entity !== view.container && !SUBSCRIPTION.test(entity);
  const written = consumerError(view.headers);
  const systemReason = reason === null ? undefined : SYSTEM_REASONS[reason];
  const type = written.type ?? (systemReason === undefined ? reason : null);
  return {
    convention: "service-bus",
    origin: known ? { queue: entity } : { subscription: entity },
    error: { ...written, type, message: written.message ?? description ?? reason },
    exceptionTypes: type === null ? [] : [type],
    reason: systemReason ?? reason,
    attempts: Number(view.property("deliveryCount") ?? 0),
    failedAtMs: null,
    messageId: view.messageId,
    eventType: null,
    inner: null,
  };
}

/** Azure Service Bus: `<entity>/$DeadLetterQueue`, and two application properties that say why. */
export const serviceBus: Convention = {
  name: "service-bus",
  owns: (headerName) => headerName === REASON.toLowerCase() || headerName === DESCRIPTION.toLowerCase(),
  read: readServiceBus,
};

function readArtemis(view: Message): Reading | null {
  const queue = view.property("x-opt-ORIG-QUEUE");
  const address = view.property("x-opt-ORIG-ADDRESS");
  const name = queue ?? address;
  if (name === null) return null;
  const reading = generic.read(view)!;
  return {
    ...reading,
    convention: "artemis",
    // `address::queue` reaches the one queue, and not every queue of a multicast address.
    origin: { queue: address === null || name === address ? name : `${address}::${name}` },
    error: { ...reading.error, message: reading.error.message ?? `dead-lettered from queue ${name}` },
    reason: "rejected",
    attempts: Math.max(reading.attempts, Number(view.property("deliveryCount") ?? 0)),
  };
}

/** ActiveMQ Artemis: the dead-letter address, with the origin in annotations. It keeps no reason of a rejection. */
export const artemis: Convention = { name: "artemis", owns: () => false, read: readArtemis };
