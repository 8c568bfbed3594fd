import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { hash64 } from "@/lib/platform/plain/hash.pure";

export type Source = "orders" | "payments" | "notifications";
type Facts = { id: number; aggregate: string; nth: number };

/** What fails, and why: all its letters are one group. */
type Cause = {
  source: Source;
  errorCode: string;
  eventType: string;
  errorType: string;
  message: (facts: Facts) => string;
  stack: string[];
  attempts: number;
  count: number;
  /** Number of entities that the letters are of: fewer than letters, and some of them wait behind others. */
  entities: number;
  /** When the first and the last one failed; most of them near the last one. */
  hoursAgo: [first: number, last: number];
  payload: (facts: Facts) => Record<string, unknown>;
};

const HOUR_MS = 3_600_000;
const NOUN: Record<Source, string> = { orders: "order", payments: "payment", notifications: "customer" };
const TENANTS = ["acme", "globex", "acme", "initech"] as const;

const CAUSES: Cause[] = [
  // The incident: it goes on, so nothing has been done about it.
  {
    source: "orders",
    errorCode: "UPSTREAM_5XX",
    eventType: "OrderCreated",
    errorType: "com.acme.orders.StockUnavailableException",
    message: ({ aggregate }) => `503 from stock-service while reserving items of ${aggregate}`,
    stack: [
      "\tat com.acme.orders.StockClient.reserve(StockClient.java:88)",
      "\tat com.acme.orders.OrderSaga.onCreated(OrderSaga.java:41)",
      "\tat org.springframework.amqp.rabbit.listener.BlockingQueueConsumer.nextMessage(BlockingQueueConsumer.java:533)",
    ],
    attempts: 5,
    count: 26,
    entities: 14,
    hoursAgo: [6, 0.05],
    payload: ({ id, nth }) => {
      const items = [{ sku: `SKU-${4_000 + (nth % 9)}`, quantity: 1 + (nth % 3), price: 19.9 }];
      return { orderId: id, currency: "EUR", items, total: 19.9 * (1 + (nth % 3)) };
    },
  },
  // Broken for good: the dry run refuses them by the schema of the source.
  {
    source: "orders",
    errorCode: "VALIDATION_ERROR",
    eventType: "OrderCreated",
    errorType: "jakarta.validation.ConstraintViolationException",
    message: ({ id }) => `order ${id}: items must not be empty`,
    stack: [
      "\tat com.acme.orders.OrderValidator.check(OrderValidator.java:33)",
      "\tat com.acme.orders.OrderSaga.onCreated(OrderSaga.java:38)",
    ],
    attempts: 1,
    count: 10,
    entities: 10,
    hoursAgo: [80, 66],
    payload: ({ id }) => ({ orderId: id, currency: "EUR", items: [], total: 0 }),
  },
  // Over: redriven a day ago.
  {
    source: "payments",
    errorCode: "RATE_LIMITED",
    eventType: "PaymentRequested",
    errorType: "TooManyRequestsError",
    message: ({ nth }) => `429 from acquirer, retry in ${10 + nth} s`,
    stack: [
      "    at Acquirer.charge (/app/src/acquirer.ts:81:11)",
      "    at async PaymentHandler.requested (/app/src/handlers/payment.ts:31:5)",
    ],
    attempts: 6,
    count: 14,
    entities: 14,
    hoursAgo: [30, 27],
    payload: ({ id, aggregate, nth }) => {
      return { paymentId: aggregate, orderId: id, amount: 12.5 + nth, currency: "EUR", method: "card" };
    },
  },
  // Hopeless: ignored.
  {
    source: "notifications",
    errorCode: "UPSTREAM_4XX",
    eventType: "EmailRequested",
    errorType: "InvalidRecipientError",
    message: ({ id }) => `550 mailbox user${id}@example.com does not exist`,
    stack: ["    at Mailer.send (/srv/mailer.js:61:13)", "    at async onEmailRequested (/srv/worker.js:20:3)"],
    attempts: 1,
    count: 10,
    entities: 10,
    hoursAgo: [160, 110],
    payload: ({ aggregate }) => ({ customerId: aggregate, template: "welcome_v2", locale: "de" }),
  },
];

export type ParkedLetter = { source: Source; atMs: number; letter: DeadLetter };

/** The dead letters of the demo, oldest first. */
export function lettersUntil(nowMs: number): ParkedLetter[] {
  const versions = new Map<string, number>();
  return CAUSES.flatMap((cause) =>
    Array.from({ length: cause.count }, (_, nth) => {
      const [first, last] = cause.hoursAgo;
      const hours = first - (first - last) * Math.sqrt(nth / (cause.count - 1));
      return { cause, nth, atMs: Math.round(nowMs - hours * HOUR_MS) };
    }),
  )
    .sort((left, right) => left.atMs - right.atMs)
    .map(({ cause, nth, atMs }) => {
      const id = 1_000 + CAUSES.indexOf(cause) * 100 + (nth % cause.entities);
      const aggregate = `${NOUN[cause.source]}-${id}`;
      const version = (versions.get(aggregate) ?? 0) + 1;
      versions.set(aggregate, version);
      return { source: cause.source, atMs, letter: letterOf(cause, { id, aggregate, nth }, version, atMs) };
    });
}

function letterOf(cause: Cause, facts: Facts, version: number, atMs: number): DeadLetter {
  const { source, errorType, eventType } = cause;
  const message = cause.message(facts);
  const traceId = hash64(facts.aggregate) + hash64(`${eventType} ${facts.nth}`);
  const tenant = TENANTS[facts.nth % TENANTS.length]!;
  return {
    eventId: `${facts.aggregate}-${version}`,
    aggregateType: NOUN[source],
    aggregateId: facts.aggregate,
    version: BigInt(version),
    eventType,
    traceId,
    errorCode: cause.errorCode,
    error: { type: errorType, message, stack: [`${errorType}: ${message}`, ...cause.stack].join("\n") },
    attempts: cause.attempts,
    failedAtMs: atMs - 400,
    payload: Buffer.from(JSON.stringify({ ...cause.payload(facts), tenant })),
    contentType: "application/json",
    headers: [
      ["x-event-type", eventType],
      ["x-tenant", tenant],
      ["traceparent", `00-${traceId}-${traceId.slice(0, 16)}-01`],
    ],
    tags: { tenant, orderId: String(facts.id) },
    origin: {
      convention: "spring-amqp",
      queue: source,
      exchange: "shop.events",
      routingKeys: [eventType],
      consumer: `${source}-service`,
    },
    redrive: null,
  };
}

export const ORDER_SCHEMA = {
  type: "object",
  required: ["orderId", "items", "total"],
  properties: {
    orderId: { type: "integer" },
    items: { type: "array", minItems: 1, items: { type: "object", required: ["sku", "quantity"] } },
    total: { type: "number", exclusiveMinimum: 0 },
  },
};
