import { Pool } from "undici";
import { checkedConnector } from "@/lib/brokers/checked-connector";
import { basicAuthorization, tlsOptions, withAuthorization } from "@/lib/brokers/http/exchange";
import { signatureHeaders, webhookIdOf } from "@/lib/brokers/http/request-signature";
import type { CheckCall, TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import { textOrNull } from "@/lib/brokers/message";
import type { CheckAnswer, CheckedEvent, OwnerCheck } from "@/lib/brokers/port";
import { excerpt, secretsOfPayload } from "@/lib/brokers/scrub";
import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import { ADDRESS_REFUSED, type AddressFilter, addressRefusal, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { type Clock, within } from "@/lib/platform/clock";
import { isJson } from "@/lib/platform/plain/json-text.pure";
import { Bulkhead } from "@/lib/retry/bulkhead";

/** Calls under way at a time, of this process to one endpoint. */
const CALLS_MAX = 2;
/** One call asks about this many events, and bytes of payloads, at most. */
const EVENTS_MAX = 100;
const BATCH_BYTES_MAX = 1024 * 1024;
const ANSWER_BYTES_MAX = 256 * 1024;
/** An answer about a revision holds this long: its owner may change their mind. */
const ANSWER_FRESH_MS = 15_000;
/** After a call without an answer the endpoint is left alone this long. */
const REST_MS = 2_000;
const ANSWERS_KEPT_MAX = 10_000;
const TEXT_MAX = 500;

/** Asks a target's owner by HTTP, in batches. An endpoint that is away, slow or unclear makes events `unanswered`, with the reason. */
export function createOwnerCheck(
  config: CheckCall,
  { clock, addresses = DEFAULT_ADDRESSES, tls = {} }: { clock: Clock; addresses?: AddressFilter; tls?: TlsSettings },
): OwnerCheck {
  const url = new URL(config.url);
  const address = redactUrl(config.url);
  const pool = new Pool(url.origin, {
    connections: CALLS_MAX,
    pipelining: 1,
    allowH2: false,
    connect: checkedConnector(addresses, { timeout: config.timeoutMs, allowH2: false, ...tlsOptions(tls) }),
  });
  const kept = new Map<string, { answer: CheckAnswer; atMs: number }>();
  let restUntilMs = Number.NEGATIVE_INFINITY;
  let resting = "";
  const calls = new Bulkhead({ permits: CALLS_MAX, queueMax: Number.POSITIVE_INFINITY });

  async function inTurn<T>(call: () => Promise<T>): Promise<T> {
    if (!calls.tryEnter()) await new Promise<void>((resolve) => calls.queue(resolve));
    try {
      return await call();
    } finally {
      calls.release();
    }
  }

  async function post(body: string, signal: AbortSignal): Promise<unknown> {
    const id = webhookIdOf(url.href, body);
    const signed =
      config.secret === undefined
        ? {}
        : signatureHeaders({ secret: config.secret }, { id, atMs: clock.wallMs(), body });
    const fixed = { "content-type": "application/json", accept: "application/json", ...signed };
    const headers = withAuthorization(Object.entries(fixed).flat(), basicAuthorization(url));
    const path = url.pathname + url.search;
    const answer = await pool.request({ path, method: "POST", headers, body, signal });
    if (answer.statusCode !== 200) {
      await answer.body.dump();
      throw new Unanswered(`${address} answered ${answer.statusCode}, and not 200`);
    }
    return await jsonOf(answer.body, address);
  }

  async function askBatch(batch: readonly CheckedEvent[], signal: AbortSignal): Promise<CheckAnswer[]> {
    if (clock.nowMs() < restUntilMs) return batch.map(() => ({ unanswered: resting }));
    try {
      const answered = await within(clock, config.timeoutMs, (late) =>
        post(bodyOf(batch), AbortSignal.any([signal, late])),
      );
      const byId = answersIn(answered, address);
      return batch.map((event) => answerFor(event, byId.get(event.id), address));
    } catch (error) {
      signal.throwIfAborted();
      resting = reasonOf(error, address, config.timeoutMs);
      restUntilMs = clock.nowMs() + REST_MS;
      return batch.map(() => ({ unanswered: resting }));
    }
  }

  async function ask(events: readonly CheckedEvent[], signal: AbortSignal): Promise<CheckAnswer[]> {
    const nowMs = clock.nowMs();
    const fresh = events.map((event) => {
      const known = kept.get(keyOf(event));
      return known && nowMs - known.atMs < ANSWER_FRESH_MS ? known.answer : null;
    });
    const open = events.filter((_, index) => fresh[index] === null);
    const asked = new Map<CheckedEvent, CheckAnswer>();
    const fitting = open.filter((event) => {
      if (event.payload.byteLength <= BATCH_BYTES_MAX) return true;
      asked.set(event, {
        unanswered: `its payload is larger than ${BATCH_BYTES_MAX} bytes, so its owner was not asked`,
      });
      return false;
    });
    await Promise.all(
      batchesOf(fitting).map((batch) =>
        inTurn(async () => {
          const answers = await askBatch(batch, signal);
          batch.forEach((event, index) => {
            asked.set(event, answers[index]!);
            if (!("unanswered" in answers[index]!)) keep(event, answers[index]!);
          });
        }),
      ),
    );
    return events.map((event, index) => fresh[index] ?? asked.get(event)!);
  }

  function keep(event: CheckedEvent, answer: CheckAnswer): void {
    const key = keyOf(event);
    kept.delete(key);
    kept.set(key, { answer, atMs: clock.nowMs() });
    if (kept.size > ANSWERS_KEPT_MAX) kept.delete(kept.keys().next().value!);
  }

  return { ask, refusesUnanswered: config.whenUnanswered === "refuse", close: () => pool.destroy() };
}

class Unanswered extends Error {}

function answerFor(event: CheckedEvent, said: Said | "both" | undefined, address: string): CheckAnswer {
  if (!said) return { unanswered: `${address} left this event out of its answer` };
  if (said === "both") return { unanswered: `${address} gave contradictory answers for this event` };
  return said.take ? { take: true } : refusal(event, said);
}

/** An edit is another revision, of which nothing is known. */
function keyOf({ id, revision }: CheckedEvent): string {
  return `${id} ${revision}`;
}

function batchesOf(events: readonly CheckedEvent[]): CheckedEvent[][] {
  const batches: CheckedEvent[][] = [];
  let bytes = 0;
  for (const event of events) {
    const last = batches.at(-1);
    bytes += event.payload.byteLength;
    if (last && last.length < EVENTS_MAX && bytes <= BATCH_BYTES_MAX) last.push(event);
    else {
      batches.push([event]);
      bytes = event.payload.byteLength;
    }
  }
  return batches;
}

/** JSON stands in the request as it was parked, digit for digit; anything else is base64. */
function bodyOf(batch: readonly CheckedEvent[]): string {
  const events = batch.map(({ payload, ...facts }) => {
    const text = /^[^;]*[/+]json\s*(;|$)/i.test(facts.contentType) ? textOrNull(payload) : null;
    const json = text !== null && isJson(text);
    const data = json ? `"payload":${text}` : `"payloadBase64":"${Buffer.from(payload).toString("base64")}"`;
    return `${JSON.stringify(facts).slice(0, -1)},${data}}`;
  });
  return `{"events":[${events.join(",")}]}`;
}

/** The body of an answer, at most ANSWER_BYTES_MAX of it. */
async function jsonOf(body: AsyncIterable<Buffer>, address: string): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Unanswered(`${address} answered more than ${ANSWER_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Unanswered(`${address} did not answer with JSON`);
  }
}

/** `{ answers: [{ id, take, reason?, pointer? }] }`; an entry of another form counts as left out. */
function answersIn(body: unknown, address: string): Map<string, Said | "both"> {
  const answers = typeof body === "object" && body !== null && "answers" in body ? body.answers : null;
  if (!Array.isArray(answers)) throw new Unanswered(`${address} answered with JSON that has no list "answers"`);
  const byId = new Map<string, Said | "both">();
  for (const entry of answers as unknown[]) {
    if (typeof entry !== "object" || entry === null) continue;
    const { id, take, reason, pointer } = entry as Record<string, unknown>;
    if (typeof id !== "string" || typeof take !== "boolean") continue;
    const before = byId.get(id);
    if (before === undefined) byId.set(id, { take, reason, pointer });
    else if (before === "both" || before.take !== take) byId.set(id, "both");
  }
  return byId;
}

type Said = { take: boolean; reason: unknown; pointer: unknown };

/** The owner has seen the payload, and may repeat its masked values. */
function refusal({ payload }: CheckedEvent, { reason, pointer }: Said): CheckAnswer {
  const secrets = secretsOfPayload(payload);
  const shown = (text: unknown) => (typeof text === "string" ? excerpt(text, secrets, TEXT_MAX) : null);
  return { take: false, reason: shown(reason) || "no reason given", pointer: shown(pointer) };
}

function reasonOf(error: unknown, address: string, timeoutMs: number): string {
  if (error instanceof Unanswered) return error.message;
  const refused = addressRefusal(error);
  if (refused) return refused.message;
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string" && code !== ADDRESS_REFUSED && code !== "ABORT_ERR")
    return `cannot reach ${address} (${code})`;
  return `no answer from ${address} in ${timeoutMs} ms`;
}
