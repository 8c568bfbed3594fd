import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { generic } from "@/lib/brokers/conventions/generic";
import { PayloadJson } from "@/lib/brokers/conventions/payload-json";
import { xDeath } from "@/lib/brokers/conventions/x-death";
import type { Message } from "@/lib/brokers/message";

/** What the broker says of the death: the frameworks below dead-letter by RabbitMQ, and add no header of their own. */
function brokerReading(view: Message): Reading {
  return xDeath.read(view) ?? generic.read(view)!;
}

function readCelery(view: Message): Reading | null {
  const { headers } = view;
  const task = headers.text("task");
  const id = headers.text("id");
  // Protocol 2 of Celery writes these beside the id; `task` and `id` alone are ordinary words.
  if (task === null || id === null || !headers.has("root_id") || !headers.has("argsrepr")) return null;
  const reading = brokerReading(view);
  // A failure of the task itself came after its retries; a rejection is counted by the broker.
  const ran = reading.attempts === 0 && reading.error.type !== null ? 1 : 0;
  const attempts = reading.attempts + (headers.count("retries") ?? 0) + ran;
  return { ...reading, convention: "celery", messageId: id, eventType: task, attempts };
}

/** Celery, protocol 2: a task that was rejected without requeue. Its failures proper lie in the result backend. */
export const celery: Convention = { name: "celery", owns: () => false, read: readCelery };

/** `<queue>.DQ` holds a delayed message: a redrive goes to the queue whose actor runs it. */
const DELAYED = /\.DQ$/;

/** `module.Error: text`, the last line of a traceback of Python. */
function pythonError(traceback: string): { type: string; message: string } | null {
  const last = traceback.trimEnd().split("\n").at(-1) ?? "";
  const match = /^([A-Za-z_][\w.]{0,300})(?:: ?(.*))?$/.exec(last);
  return match === null ? null : { type: match[1]!, message: match[2] ?? "" };
}

function readDramatiq(view: Message): Reading | null {
  const { body } = view;
  // A cheap check before parsing: this runs for every message of every queue.
  if (body === null || !Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes('"actor_name"'))
    return null;
  const payload = new PayloadJson(body);
  const [queue, actor, id] = ["queue_name", "actor_name", "message_id"].map((name) => payload.scalar(`/${name}`));
  if (!queue || !actor || !id || payload.value("/options") === undefined) return null;
  const reading = brokerReading(view);
  const traceback = payload.scalar("/options/traceback");
  const error = traceback === null ? null : pythonError(traceback);
  const retries = Number(payload.scalar("/options/retries") ?? 0);
  return {
    ...reading,
    convention: "dramatiq",
    origin: { ...reading.origin, queue: queue.replace(DELAYED, "") },
    error: error === null ? reading.error : { ...error, stack: traceback },
    exceptionTypes: error === null ? reading.exceptionTypes : [error.type],
    attempts: Math.max(reading.attempts, Number.isSafeInteger(retries) ? retries : 0),
    messageId: id,
    eventType: actor,
  };
}

/**
 * Dramatiq: `<queue>.XQ`, the message with its count of retries and its last traceback in the body. The body goes back
 * byte for byte, retries included: an actor that fails again returns it at once, and Parkade counts the repeats.
 */
export const dramatiq: Convention = { name: "dramatiq", owns: () => false, read: readDramatiq };
