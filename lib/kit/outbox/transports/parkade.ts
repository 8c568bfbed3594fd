import { host } from "@/lib/kit/host";
import type { Confirmation } from "@/lib/kit/inbox/confirm";
import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";
import { HttpRefusal } from "@/lib/kit/outbox/transports/http";
import { failureOf, throwOutage, unfit, untried } from "@/lib/kit/outbox/transports/send-each";
import { problemOf } from "@/lib/kit/problem";
import { parseRetryAfter } from "@/lib/retry/retry-after";

export type ParkadeOptions = {
  /** Of Parkade, such as `https://parkade.internal`. */
  url: string;
  /** Sent as `Authorization: Bearer`. Parkade requires one, with the right to confirm events, from other machines. */
  token?: string;
  fetch?: typeof fetch;
  clock?: { wallMs(): number };
};

/** Of POST /api/v1/events/confirm. */
const IDS_MAX = 1_000;

/** Tells Parkade what was processed: the confirmations of one source and consumer in one request. */
export function parkadeTransport({
  url,
  token,
  fetch = globalThis.fetch,
  clock = host.clock,
}: ParkadeOptions): Transport {
  const address = new URL("/api/v1/events/confirm", url);
  const send = async (
    { source, producer, consumer }: Omit<Confirmation, "eventId">,
    eventIds: string[],
    signal: AbortSignal,
  ) => {
    const response = await fetch(address, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ source, producer, consumer, eventIds }),
      redirect: "error",
      signal,
    });
    const text = await response.text();
    if (!response.ok) throw new HttpRefusal(response, problemOf(text)?.code);
  };
  return {
    publishMany: async (messages, signal, beginNoMore = signal) => {
      const results = new Map<Message, MessageResult>();
      const read = messages.flatMap((message) => {
        const confirmation = confirmationOf(message);
        if (confirmation !== null) return [{ message, ...confirmation }];
        results.set(message, unfit(`event ${message.id} is not a confirmation: insert it with confirmProcessed`));
        return [];
      });
      const nameOf = ({ source, producer, consumer }: Confirmation) =>
        JSON.stringify([source, producer ?? null, consumer]);
      for (const group of Map.groupBy(read, nameOf).values()) {
        for (let at = 0; at < group.length; at += IDS_MAX) {
          if (beginNoMore.aborted) break;
          const part = group.slice(at, at + IDS_MAX);
          const result = await send(
            part[0]!,
            part.map(({ eventId }) => eventId),
            signal,
          ).then(
            (): MessageResult => ({ ok: true }),
            (error: unknown) => judge(error, clock.wallMs()),
          );
          for (const { message } of part) results.set(message, result);
        }
      }
      const inOrder = messages.map((message) => results.get(message) ?? untried(beginNoMore));
      throwOutage(inOrder);
      return inOrder;
    },
  };
}

function confirmationOf({ body }: Message): Confirmation | null {
  try {
    const confirmation: Confirmation = JSON.parse(Buffer.from(body).toString("utf8"));
    return typeof confirmation.source === "string" && typeof confirmation.eventId === "string" ? confirmation : null;
  } catch {
    return null;
  }
}

/**
 * A source that is not there yet may still be made, and a token may be renewed. An answer that names no problem of Parkade's
 * comes from something before it, whatever its status: Parkade has not read the request.
 */
function judge(error: unknown, wallMs: number): MessageResult {
  const judged = failureOf(error);
  if (!(error instanceof HttpRefusal) || judged.ok) return judged;
  const retryAfterMs = parseRetryAfter(error.retryAfter ?? "", wallMs) ?? undefined;
  const outage = judged.outage || error.problem === null;
  return {
    ok: false,
    error,
    outage,
    permanent: !outage && (error.status === 400 || error.status === 422),
    retryAfterMs,
  };
}
