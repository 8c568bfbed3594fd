import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError } from "@/lib/brokers/conventions/generic";
import { HeaderView, type Message } from "@/lib/brokers/message";

/** Deliveries before SQS moved the message: its count goes on after the move, and includes ours. null: SQS did not move it. */
function deliveriesOf(message: Message): number | null {
  const count = Number(message.property("ApproximateReceiveCount") ?? "1");
  return message.property("DeadLetterQueueSourceArn") === null ? null : Math.max(count - 1, 0);
}

/** The facts of a message that SQS itself may have moved; SQS records no reason but the count. */
export function movedBySqs(message: Message): Pick<Reading, "error" | "exceptionTypes" | "reason" | "attempts"> {
  const written = consumerError(message.headers);
  const deliveries = deliveriesOf(message);
  const queue = message.origin.queue ?? "its queue";
  const moved = deliveries === null ? null : `received ${deliveries} times from queue ${queue} and not deleted`;
  return {
    error: { ...written, message: written.message ?? moved },
    exceptionTypes: written.type === null ? [] : [written.type],
    reason: deliveries === null ? null : "delivery_limit",
    attempts: deliveries ?? 0,
  };
}

/** The message with the headers that a convention owns hidden: a mapping must not read them as the application's. */
export function withoutOwned(message: Message, { owns }: Pick<Convention, "owns">): Message {
  const entries = [...message.headers.names()].filter((name) => !owns(name));
  const view = entries.flatMap((name) => message.headers.all(name).map((value) => [name, value] as const));
  return { ...message, headers: new HeaderView(view) };
}

/** When a consumer first received it without deleting it. null: Parkade is the first receiver. */
function firstFailedMs(message: Message): number | null {
  const at = Number(message.property("ApproximateFirstReceiveTimestamp") ?? Number.NaN);
  return Number.isSafeInteger(at) && (deliveriesOf(message) ?? 0) > 0 ? at : null;
}

function read(message: Message): Reading | null {
  if (deliveriesOf(message) === null) return null;
  return {
    convention: "sqs-redrive-policy",
    origin: {},
    ...movedBySqs(message),
    failedAtMs: firstFailedMs(message),
    messageId: message.messageId,
    eventType: null,
    inner: null,
  };
}

/** Moved by SQS itself, after `maxReceiveCount` deliveries. */
export const sqsRedrivePolicy: Convention = { name: "sqs-redrive-policy", owns: () => false, read };
