import type { Convention, PayloadState, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError } from "@/lib/brokers/conventions/generic";
import type { Message } from "@/lib/brokers/message";
import { readFailedAt } from "@/lib/platform/plain/dead-letter.pure";

function read(message: Message): Reading | null {
  const type = message.property("advisory");
  if (type === null) return null;
  const [stream, consumer, reason] = ["stream", "consumer", "reason"].map((name) => message.property(name));
  const deliveries = Number(message.property("deliveries"));
  const attempts = Number.isSafeInteger(deliveries) ? deliveries : 0;
  const isTerminated = type.endsWith(".terminated");
  const what = isTerminated ? `terminated by consumer ${consumer}` : `not acknowledged by consumer ${consumer}`;
  const said = reason === null ? `${what} of stream ${stream} in ${attempts} deliveries` : `${what}: ${reason}`;
  const isGone = message.body === null;
  const payloadState: PayloadState = "reference-only";
  const written = consumerError(message.headers);
  return {
    convention: "nats-advisory",
    origin: isGone ? { payloadState } : {},
    error: {
      ...written,
      message: isGone ? `${said}; stream ${stream} does not hold the message any more` : (written.message ?? said),
    },
    exceptionTypes: written.type === null ? [] : [written.type],
    reason: isGone ? "payload-gone" : isTerminated ? "rejected" : "delivery_limit",
    attempts,
    ...readFailedAt(message.property("failedAt")),
    messageId: message.messageId,
    // One stream of advisories captures what is said of several streams.
    within: stream,
    eventType: null,
    inner: null,
  };
}

/** A message that NATS gave up, as its advisory says: delivered too often, or terminated by its consumer. */
export const natsAdvisory: Convention = { name: "nats-advisory", owns: () => false, read };
