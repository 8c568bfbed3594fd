import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import type { Message } from "@/lib/brokers/message";
import { readFailedAt } from "@/lib/platform/plain/dead-letter.pure";

const SUFFIXES = ["_error", "_skipped"];

/** `rabbitmq://host/vhost/orders?durable=true` -> `orders`. */
function queueOfAddress(address: string | null): string | null {
  const last = address?.split("?", 1)[0]?.split("/").at(-1);
  if (!last) return null;
  try {
    return decodeURIComponent(last);
  } catch {
    return last; // a stray % in a queue name is no escape
  }
}

function queueOfDlq(queue: string): string | null {
  const suffix = SUFFIXES.find((candidate) => queue.endsWith(candidate));
  return suffix === undefined ? null : queue.slice(0, -suffix.length);
}

function read(view: Message): Reading | null {
  const { headers, container, messageId } = view;
  const reason = headers.text("MT-Reason");
  const type = headers.text("MT-Fault-ExceptionType");
  if (reason === null && type === null) return null;
  const message = headers.text("MT-Fault-Message");
  const retries = headers.count("MT-Fault-RetryCount") ?? 0;
  const redeliveries = headers.count("MT-Fault-RedeliveryCount") ?? headers.count("MT-Redelivery-Count") ?? 0;
  const origin = queueOfAddress(headers.text("MT-Fault-InputAddress")) ?? queueOfDlq(container);
  const consumer = headers.text("MT-Fault-ConsumerType");
  // A skipped message reached no consumer; a faulted one did once, and once more for each retry.
  const faulted = type !== null || reason === "fault";
  return {
    convention: "masstransit",
    origin: { ...(origin === null ? {} : { queue: origin }), ...(consumer === null ? {} : { consumer }) },
    error: {
      type,
      message: message ?? (faulted ? null : `skipped: ${reason}`),
      stack: headers.text("MT-Fault-StackTrace"),
    },
    exceptionTypes: type === null ? [] : [type],
    reason,
    attempts: faulted ? 1 + retries + redeliveries : 0,
    ...readFailedAt(headers.text("MT-Fault-Timestamp")),
    messageId,
    eventType: headers.text("MT-Fault-MessageType") ?? headers.text("MT-MessageType"),
    inner: null,
  };
}

/** MassTransit's `<queue>_error` and `<queue>_skipped`: the body is the unchanged original. */
export const massTransit: Convention = {
  name: "masstransit",
  // MT-Redelivery-Count too: left on, second-level redelivery would be exhausted from the start.
  owns: (headerName) => /^mt-(reason|fault-.*|host-.*|redelivery-count)$/.test(headerName),
  read,
};
