import { inflateSync } from "node:zlib";
import type { Convention } from "@/lib/brokers/conventions/convention";
import { generic } from "@/lib/brokers/conventions/generic";
import { isRedriveHeader, RETRY_COUNT, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import { HeaderView, type Message, textOrNull } from "@/lib/brokers/message";
import type { OutboundMessage } from "@/lib/brokers/port";
import { ExactNumber, isExactObject, parseExact } from "@/lib/platform/plain/exact-json.pure";
import { instantMs } from "@/lib/platform/plain/iso-time.pure";

type Job = Record<string, unknown>;

/** An unpacked stack above this is not read. */
const STACK_BYTES_MAX = 1024 * 1024;

/** The job of a member of the dead set, numbers digit for digit; null when it is no JSON object. */
function jobOf(bytes: Uint8Array): Job | null {
  try {
    const job = parseExact(textOrNull(bytes) ?? "");
    return isExactObject(job) ? job : null;
  } catch {
    return null;
  }
}

function textIn(job: Job, name: string): string | null {
  const value = job[name];
  return typeof value === "string" && value !== "" ? value : null;
}

function numberIn(job: Job, name: string): number | null {
  const value = job[name];
  const number = value instanceof ExactNumber ? Number(value.digits) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

/** Sidekiq 8 writes milliseconds, older versions seconds with a fraction. */
/** base64 of the deflated JSON list of lines. */
function stackOf(job: Job): string | null {
  const packed = textIn(job, "error_backtrace");
  if (packed === null) return null;
  try {
    const lines: unknown = JSON.parse(
      inflateSync(Buffer.from(packed, "base64"), { maxOutputLength: STACK_BYTES_MAX }).toString("utf8"),
    );
    return Array.isArray(lines) ? lines.join("\n") : null;
  } catch {
    return null;
  }
}

/** A member of the dead set as the conventions read it: the job is the body, and the marks of a redrive are its keys. */
export function messageOf(member: Buffer, scoreSeconds: number): Message {
  const job = jobOf(member);
  const text = (name: string) => (job === null ? null : textIn(job, name));
  const number = (name: string) => (job === null ? null : numberIn(job, name));
  const marks = Object.keys(job ?? {}).filter((name) => isRedriveHeader(name) || name === RETRY_COUNT);
  const retryCount = number("retry_count");
  const facts: Record<string, string | null> = {
    jid: text("jid"),
    class: text("wrapped") ?? text("class"),
    queue: text("queue"),
    attempts: String(retryCount === null ? 1 : retryCount + 1),
    failedAtMs: String(instantMs(number("failed_at")) ?? scoreSeconds * 1000),
    error_class: text("error_class"),
    error_message: text("error_message"),
    error_backtrace: job === null ? null : stackOf(job),
  };
  const headers = marks.map((name): [string, string] => [name, String(job![name])]);
  return {
    container: "dead",
    headers: new HeaderView(headers),
    storedHeaders: () => headers,
    body: member,
    messageId: facts.jid!,
    type: facts.class!,
    contentType: job === null ? null : "application/json",
    sentAtMs: instantMs(number("created_at")),
    orderKey: null,
    property: (name) => facts[name] ?? null,
    origin: {
      ...(facts.queue === null ? {} : { queue: facts.queue }),
      ...(textOrNull(member) === null ? {} : { sidekiqMember: member.toString("utf8") }),
      properties: { jid: facts.jid, class: facts.class, queue: facts.queue },
      deadLetter: { set: "dead", score: scoreSeconds },
    },
    ownId: () => facts.jid ?? `dead:${scoreSeconds}:${member.toString("base64").slice(0, 300)}`,
  };
}

/** Sidekiq's dead set: the failure stands in the job itself. */
export const sidekiqJob: Convention = {
  name: "sidekiq",
  owns: generic.owns,
  read(message) {
    if (message.origin.sidekiqMember === undefined) return null;
    const type = message.property("error_class");
    return {
      ...generic.read(message)!,
      convention: "sidekiq",
      error: { type, message: message.property("error_message"), stack: message.property("error_backtrace") },
      // Ruby's own are named by their module: Timeout::Error.
      exceptionTypes: type === null ? [] : [type, type.replaceAll("::", "")],
      attempts: Math.max(Number(message.property("attempts")), 0),
      failedAtMs: Math.round(Number(message.property("failedAtMs"))),
    };
  },
};

/** The job as Sidekiq's own retry leaves it, with the mark as keys, which Sidekiq carries along. null: the payload is no job. */
export function redrivenJob(
  message: OutboundMessage,
  { queue: wanted, nowMs }: { queue: string | undefined; nowMs: number },
): { queue: string; json: string } | null {
  const job = jobOf(message.payload);
  if (job === null || textIn(job, "class") === null || !Array.isArray(job.args)) return null;
  const queue = wanted ?? textIn(job, "queue") ?? message.origin.queue;
  if (queue === undefined) return null;
  const kept = Object.entries(job).filter(([name]) => !isRedriveHeader(name) && name !== RETRY_COUNT);
  const next: Job = Object.fromEntries(kept);
  const count = numberIn(job, "retry_count");
  if (count !== null) next.retry_count = count - 1;
  const created = numberIn(job, "created_at");
  next.enqueued_at = created !== null && created < 1e11 ? nowMs / 1000 : Math.round(nowMs);
  next.queue = queue;
  Object.assign(next, redriveMarks(message));
  // Where the client of OpenTelemetry for Sidekiq reads it.
  if (message.traceparent !== undefined) {
    next.traceparent = message.traceparent;
    delete next.tracestate;
  }
  return { queue, json: JSON.stringify(next) };
}
