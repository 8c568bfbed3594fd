import type { Convention, Reading } from "@/lib/brokers/conventions/convention";
import { consumerError } from "@/lib/brokers/conventions/generic";
import { type HeaderValue, type HeaderView, type Message, textOfValue } from "@/lib/brokers/message";

/**
 * One entry of `x-death`: all deaths of a message in one queue for one reason. Most recent first on the wire.
 * https://www.rabbitmq.com/docs/dlx#effects
 */
export type Death = {
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

/**
 * The latest death: the newest entry, or `x-last-death-*` (RabbitMQ 3.13 and later), or the `x-first-death-*` that are
 * left when a client removed `x-death`. Deaths in the dead-letter queue itself are skipped: a redrive there would park
 * the message again.
 */
function latestDeath(view: Message, deaths: readonly Death[]): Death | null {
  const elsewhere = deaths.find((death) => death.queue !== view.container);
  if (elsewhere !== undefined) return elsewhere;
  for (const which of ["last", "first"]) {
    const queue = view.headers.text(`x-${which}-death-queue`);
    if (queue === null || queue === view.container) continue;
    return {
      queue,
      reason: view.headers.text(`x-${which}-death-reason`) ?? "",
      exchange: view.headers.text(`x-${which}-death-exchange`),
      routingKeys: [],
      count: 1,
      timeMs: null,
    };
  }
  return null;
}

const OWNED = /^x-(death|first-death-.*|last-death-.*|delivery-count|acquired-count|opt-deaths|stream-offset)$/;

/** Headers the broker itself writes. Left on a message, RabbitMQ up to 3.13 reads them as a dead-letter cycle. */
export function isBrokerDeathHeader(headerName: string): boolean {
  return OWNED.test(headerName);
}

function read(view: Message): Reading | null {
  const deaths = deathsOf(view.headers);
  const death = latestDeath(view, deaths);
  if (death === null) return null;
  const written = consumerError(view.headers);
  return {
    convention: "rabbitmq-x-death",
    origin: {
      queue: death.queue,
      ...(death.exchange === null ? {} : { exchange: death.exchange }),
      ...(death.routingKeys.length === 0 ? {} : { routingKeys: death.routingKeys }),
    },
    error: {
      type: written.type,
      message: written.message ?? `${death.reason.replaceAll("_", " ")} from queue ${death.queue}`,
      stack: written.stack,
    },
    exceptionTypes: written.type === null ? [] : [written.type],
    reason: death.reason === "" ? null : death.reason,
    attempts: Math.max(deliveriesOf(deaths), view.headers.count("x-delivery-count") ?? 0),
    failedAtMs: death.timeMs,
    messageId: view.messageId,
    eventType: null,
    inner: null,
  };
}

/** Dead-lettered by RabbitMQ itself, through a dead-letter exchange. */
export const xDeath: Convention = { name: "rabbitmq-x-death", owns: isBrokerDeathHeader, read };
