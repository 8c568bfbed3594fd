import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError } from "@/lib/brokers/conventions/generic";
import { type HeaderValue, type HeaderView, type Message, textOfValue } from "@/lib/brokers/message";

/** All deaths of a message in one queue for one reason, most recent first on the wire. https://www.rabbitmq.com/docs/dlx#effects */
type Death = {
  queue: string;
  /** `rejected`, `expired`, `maxlen`, `delivery_limit`. */
  reason: string;
  exchange: string | null;
  routingKeys: string[];
  count: number;
  /** Of the first death in this queue for this reason. */
  timeMs: number | null;
};

function deathOf(entry: HeaderValue): Death[] {
  if (typeof entry !== "object" || entry === null || !("table" in entry)) return [];
  const { table } = entry;
  const field = (name: string) => table.find(([key]) => key === name)?.[1] ?? null;
  const queue = textOfValue(field("queue"));
  const reason = textOfValue(field("reason"));
  if (queue === null || reason === null) return [];
  const keys = field("routing-keys");
  const count = Number(textOfValue(field("count")) ?? "1");
  const time = field("time");
  const death = {
    queue,
    reason,
    exchange: textOfValue(field("exchange")),
    routingKeys: Array.isArray(keys) ? keys.map((key) => textOfValue(key) ?? "") : [],
    count: Number.isSafeInteger(count) && count > 0 ? count : 1,
    timeMs: typeof time === "bigint" ? Number(time) * 1000 : null,
  };
  return [death];
}

/** Entries of the `x-death` header, most recent first; malformed ones are left out. */
export function deathsOf(headers: HeaderView): Death[] {
  const entries = headers.value("x-death");
  return Array.isArray(entries) ? entries.flatMap(deathOf) : [];
}

/** Deaths that followed a delivery to a consumer; expiry and overflow happen to messages that no consumer has got. */
const AFTER_DELIVERY = new Set(["rejected", "delivery_limit"]);

/** Deliveries a consumer had made, by the broker's count over all queues the message went through. */
function deliveriesOf(deaths: readonly Death[]): number {
  return deaths.filter((death) => AFTER_DELIVERY.has(death.reason)).reduce((sum, death) => sum + death.count, 0);
}

/** `x-last-death-*` (RabbitMQ 3.13 and later) or `x-first-death-*`, which are left when a client removed `x-death`. */
function namedDeath({ headers, container }: Message, which: "last" | "first"): Death | null {
  const queue = headers.text(`x-${which}-death-queue`);
  if (queue === null || queue === container) return null;
  return {
    queue,
    reason: headers.text(`x-${which}-death-reason`) ?? "",
    exchange: textOfValue(headers.value(`x-${which}-death-exchange`)),
    routingKeys: [],
    count: 1,
    timeMs: null,
  };
}

/**
 * `failed`: the death after which the message is parked: the newest that a consumer caused. In a retry topology (work queue,
 * dead-letter exchange, wait queue with a TTL, work queue) the newest of all is the expiry in the wait queue, where a
 * redrive would only wait. Of a message that no consumer has got it is the newest.
 * `first`: how the message was published. RabbitMQ moves an entry to the front when it counts it again, so the oldest need
 * not be the last; the `x-first-death-*` name it.
 * Deaths in the dead-letter queue itself are skipped: a redrive there would park the message again.
 */
function decidingDeaths(view: Message, deaths: readonly Death[]): { failed: Death; first: Death } | null {
  const named = namedDeath(view, "first");
  const elsewhere = deaths.filter((death) => death.queue !== view.container);
  const known = elsewhere.length > 0 ? elsewhere : [namedDeath(view, "last"), named].filter((death) => death !== null);
  const failed = known.find((death) => AFTER_DELIVERY.has(death.reason)) ?? known[0];
  if (failed === undefined) return null;
  const first = known.find((death) => death.queue === named?.queue && death.reason === named.reason) ?? known.at(-1)!;
  return { failed, first };
}

const OWNED = /^x-(death|first-death-.*|last-death-.*|delivery-count|acquired-count|opt-deaths|stream-offset)$/;

/** Headers the broker itself writes. Left on a message, RabbitMQ up to 3.13 reads them as a dead-letter cycle. */
export function isBrokerDeathHeader(headerName: string): boolean {
  return OWNED.test(headerName);
}

function read(view: Message): Reading | null {
  const deaths = deathsOf(view.headers);
  const deciding = decidingDeaths(view, deaths);
  if (deciding === null) return null;
  const { failed, first } = deciding;
  const written = consumerError(view.headers);
  return {
    convention: "rabbitmq-x-death",
    origin: {
      queue: failed.queue,
      ...(first.exchange === null ? {} : { exchange: first.exchange }),
      ...(first.routingKeys.length === 0 ? {} : { routingKeys: first.routingKeys }),
    },
    error: {
      type: written.type,
      message: written.message ?? `${failed.reason.replaceAll("_", " ")} from queue ${failed.queue}`,
      stack: written.stack,
    },
    exceptionTypes: written.type === null ? [] : [written.type],
    reason: failed.reason === "" ? null : failed.reason,
    attempts: Math.max(deliveriesOf(deaths), view.headers.count("x-delivery-count") ?? 0),
    failedAtMs: failed.timeMs,
    messageId: view.messageId,
    eventType: null,
    inner: null,
  };
}

/** Dead-lettered by RabbitMQ itself, through a dead-letter exchange. */
export const xDeath: Convention = { name: "rabbitmq-x-death", owns: isBrokerDeathHeader, read };
