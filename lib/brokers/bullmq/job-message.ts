import type { Job, JobsOptions } from "bullmq";
import { jobKey, MARKS, type Marks, originalJob } from "@/lib/brokers/bullmq/marks";
import type { Convention } from "@/lib/brokers/conventions/convention";
import { significantLine } from "@/lib/brokers/conventions/exception-text";
import { REDRIVE_ATTEMPT, REDRIVE_ID } from "@/lib/brokers/conventions/redrive-mark";
import { HeaderView, type Message } from "@/lib/brokers/message";

/** A failed job as the conventions read it. `data`: its JSON as stored. */
export function jobMessage(job: Job, data: string, marks: Marks): Message {
  const { id: originalId, redrive: ofId } = originalJob(jobKey({ id: job.id!, timestamp: job.timestamp }));
  const redrive = marks.redrive ?? ofId;
  const { jobId: _, parent: __, [MARKS]: ___, ...options } = job.opts as JobsOptions & { [MARKS]?: unknown };
  const facts: Record<string, string | number | undefined> = {
    id: job.id,
    name: job.name,
    queue: job.queueName,
    attemptsMade: job.attemptsMade,
    failedReason: job.failedReason,
    finishedOn: job.finishedOn,
    stack: job.stacktrace?.at(-1),
  };
  return {
    container: job.queueName,
    headers: new HeaderView(
      redrive === null
        ? []
        : [
            [REDRIVE_ID, redrive.redriveId],
            [REDRIVE_ATTEMPT, String(redrive.attempt)],
          ],
    ),
    storedHeaders: () => [],
    body: Buffer.from(data),
    messageId: originalId,
    type: job.name,
    contentType: "application/json",
    sentAtMs: job.timestamp,
    orderKey: null,
    property: (name) => {
      const value = facts[name];
      return value === undefined || value === "" ? null : String(value);
    },
    origin: {
      queue: job.queueName,
      deadLetter: { queue: job.queueName, set: "failed", id: job.id },
      job: {
        id: job.id,
        name: job.name,
        addedAtMs: job.timestamp,
        options,
        ...(job.parentKey === undefined ? {} : { parent: job.parentKey }),
        ...(job.repeatJobKey === undefined ? {} : { scheduler: job.repeatJobKey }),
      },
    },
    ownId: () => `${job.queueName}:${job.id}`,
  };
}

/** A job in the failed set of BullMQ: the reason and the stack are its own, the class of the error is in the stack. */
export const bullmqFailed: Convention = {
  name: "bullmq",
  owns: () => false,
  read(message) {
    const finishedOn = message.property("finishedOn");
    const name = message.property("name");
    if (finishedOn === null || name === null || message.property("attemptsMade") === null) return null;
    const stack = message.property("stack");
    const type = significantLine(stack)?.type ?? null;
    return {
      convention: "bullmq",
      origin: {},
      error: { type, message: message.property("failedReason"), stack },
      exceptionTypes: type === null ? [] : [type],
      reason: "failed",
      attempts: Number(message.property("attemptsMade")),
      failedAtMs: Number(finishedOn),
      messageId: message.messageId,
      eventType: name,
      inner: null,
    };
  },
};
