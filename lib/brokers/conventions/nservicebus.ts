import { type Convention, dotnetTypeName, type Reading } from "@/lib/brokers/conventions/convention";
import { dotnetChain } from "@/lib/brokers/conventions/exception-text";
import type { Message } from "@/lib/brokers/message";
import { readFailedAt } from "@/lib/platform/plain/dead-letter.pure";

/** Of `yyyy-MM-dd HH:mm:ss:ffffff Z`: a colon before the microseconds is no other's form. */
function readTimeOfFailure(text: string | null) {
  return readFailedAt(text?.replace(/:(\d{6}) Z$/, ".$1Z"));
}

/** Transport address to queue name: MSMQ adds the machine (`Billing@HOST`). */
function queueOf(address: string | null): string | null {
  return address?.split("@", 1)[0] || null;
}

function read({ headers, messageId }: Message): Reading | null {
  const failedQueue = headers.text("NServiceBus.FailedQ");
  const type = headers.text("NServiceBus.ExceptionInfo.ExceptionType");
  if (failedQueue === null && type === null) return null;
  const stack = headers.text("NServiceBus.ExceptionInfo.StackTrace");
  const inner = headers.text("NServiceBus.ExceptionInfo.InnerExceptionType");
  const queue = queueOf(failedQueue);
  const consumer = headers.text("NServiceBus.ProcessingEndpoint");
  return {
    convention: "nservicebus",
    origin: { ...(queue === null ? {} : { queue }), ...(consumer === null ? {} : { consumer }) },
    error: { type, message: headers.text("NServiceBus.ExceptionInfo.Message"), stack },
    exceptionTypes: [type, inner, ...dotnetChain(stack ?? "").map((link) => link.type)].filter((name) => name !== null),
    reason: null,
    // The retry counters are removed on the way to the error queue; at least one delivery failed.
    attempts: 1,
    ...readTimeOfFailure(headers.text("NServiceBus.TimeOfFailure")),
    messageId: headers.text("NServiceBus.MessageId") ?? messageId,
    // Each endpoint that a message is published to fails it under the same id, and all of them share the error queue.
    within: consumer ?? queue,
    eventType: dotnetTypeName(headers.text("NServiceBus.EnclosedMessageTypes")),
    inner: null,
  };
}

/** The prefixes that ServiceControl itself strips when it retries a message. */
const OWNED_PREFIXES = [
  "nservicebus.retries",
  "nservicebus.flretries",
  "nservicebus.failedq",
  "nservicebus.timeoffailure",
  "nservicebus.exceptioninfo.",
  "servicecontrol.editof",
];

/** NServiceBus: a central queue, usually `error`; the body is the unchanged original. */
export const nserviceBus: Convention = {
  name: "nservicebus",
  owns: (headerName) => OWNED_PREFIXES.some((prefix) => headerName.startsWith(prefix)),
  read,
};
