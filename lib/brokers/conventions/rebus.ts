import { type Convention, dotnetTypeName, type Reading } from "@/lib/brokers/conventions/convention";
import { dotnetChain, significant } from "@/lib/brokers/conventions/exception-text";
import type { Message } from "@/lib/brokers/message";

const DETAILS = "rbs2-error-details";
const SOURCE_QUEUE = "rbs2-source-queue";

function read({ headers, messageId }: Message): Reading | null {
  const details = headers.text(DETAILS);
  const queue = headers.text(SOURCE_QUEUE);
  if (details === null && queue === null) return null;
  const chain = dotnetChain(details ?? "");
  const cause = significant(chain);
  return {
    convention: "rebus",
    origin: queue === null ? {} : { queue },
    error: {
      type: cause?.type ?? null,
      message: cause?.message || (details?.split(/\r?\n/, 1)[0] ?? null),
      stack: details,
    },
    exceptionTypes: chain.map((link) => link.type),
    reason: null,
    attempts: 1, // Rebus keeps its count in memory; at least one delivery failed
    failedAtMs: null,
    messageId: headers.text("rbs2-msg-id") ?? messageId,
    eventType: dotnetTypeName(headers.text("rbs2-msg-type")),
    inner: null,
  };
}

/** Rebus: queue `error`; the body is the unchanged original. */
export const rebus: Convention = {
  name: "rebus",
  owns: (headerName) => headerName === DETAILS || headerName === SOURCE_QUEUE,
  read,
};
