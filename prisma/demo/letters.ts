import type { DeadLetter, Header } from "@/lib/intake/dead-letter.pure";
import type { Failure } from "./failure-shape";
import type { Random } from "./random";

/** Entities of a source: few enough that several events of one are parked, many enough that most stand alone. */
const AGGREGATES = 1_400;

const TENANTS = ["acme", "acme", "acme", "globex", "globex", "initech", "umbrella"] as const;
const NOUN: Record<Failure["source"], string> = {
  orders: "order",
  payments: "payment",
  shipping: "shipment",
  inventory: "sku",
  notifications: "customer",
};

/** Version of each aggregate so far: an event is the next one of its entity. */
export type Versions = Map<string, number>;

export function letterOf(failure: Failure, n: number, atMs: number, random: Random, versions: Versions): DeadLetter {
  const id = random.whole(1_000, 1_000 + AGGREGATES);
  const aggregate = `${NOUN[failure.source]}-${id}`;
  const version = (versions.get(`${failure.source}:${aggregate}`) ?? random.whole(0, 3)) + 1;
  versions.set(`${failure.source}:${aggregate}`, version);
  const tenant = random.pick(TENANTS);
  const message = failure.message({ id, aggregate, version, random });
  const traceId = random.hex(32);
  return {
    eventId: `${failure.source.slice(0, 3)}-${n.toString(36).padStart(5, "0")}-${random.hex(8)}`,
    aggregateType: NOUN[failure.source],
    aggregateId: aggregate,
    version: BigInt(version),
    eventType: failure.eventType,
    traceId,
    errorCode: failure.errorCode,
    error: { type: failure.type, message, stack: stackOf(failure, message) },
    attempts: random.whole(...(failure.attempts ?? [1, 1])),
    failedAtMs: atMs - random.whole(50, 4_000),
    payload: Buffer.from(JSON.stringify(payloadOf(failure, { id, aggregate, tenant, atMs, random }))),
    contentType: "application/json",
    headers: headersOf(failure, traceId, tenant),
    tags: { tenant, region: random.pick(["eu-1", "eu-2", "us-1"]), orderId: String(id) },
    origin: {
      convention: "spring-amqp",
      queue: failure.source,
      exchange: "shop.events",
      routingKeys: [failure.eventType],
      consumer: `${failure.source}-service`,
    },
    redrive: null,
  };
}

/** Frames of the framework below those of a Java service. */
const SPRING = [
  "org.springframework.web.client.DefaultResponseErrorHandler.handleError(DefaultResponseErrorHandler.java:139)",
  "org.springframework.amqp.rabbit.listener.BlockingQueueConsumer.nextMessage(BlockingQueueConsumer.java:533)",
];

/** The stack as its language prints it. */
function stackOf(failure: Failure, message: string): string {
  const { language, type, frames } = failure;
  switch (language) {
    case "java":
      return [`${type}: ${message}`, ...[...frames, ...SPRING].map((frame) => `\tat ${frame}`)].join("\n");
    case "node":
      return [
        `${type}: ${message}`,
        ...frames.map((frame) => `    at ${frame}`),
        "    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
      ].join("\n");
    case "dotnet":
      return [`${type}: ${message}`, ...frames.map((frame) => `   at ${frame}`)].join("\n");
    case "python":
      return [
        "Traceback (most recent call last):",
        ...[...frames].reverse().map((frame) => {
          const [file, line, name] = frame.split(":");
          return `  File "/srv/app/${file}", line ${line}, in ${name}`;
        }),
        `${type}: ${message}`,
      ].join("\n");
  }
}

function headersOf(failure: Failure, traceId: string, tenant: string): Header[] {
  return [
    ["x-event-type", failure.eventType],
    ["x-tenant", tenant],
    ["traceparent", `00-${traceId}-${traceId.slice(0, 16)}-01`],
    ["x-original-routing-key", failure.eventType],
  ];
}

type FailedEvent = { id: number; aggregate: string; tenant: string; atMs: number; random: Random };

function payloadOf(failure: Failure, facts: FailedEvent): Record<string, unknown> {
  const { id, aggregate, tenant, atMs, random } = facts;
  const common = { tenant, occurredAt: new Date(atMs - random.whole(1_000, 90_000)).toISOString() };
  switch (failure.source) {
    case "orders":
      return { orderId: id, ...common, currency: "EUR", ...orderBody(failure, random) };
    case "payments": {
      const amount = failure.broken ? -random.whole(1, 500) : random.whole(500, 90_000) / 100;
      return {
        paymentId: aggregate,
        orderId: id,
        ...common,
        amount,
        currency: "EUR",
        method: random.pick(["card", "sepa"]),
      };
    }
    case "shipping":
      return {
        shipmentId: aggregate,
        orderId: id,
        ...common,
        carrier: random.pick(["northline", "parcelo"]),
        address: {
          city: random.pick(["Bern", "Graz", "Gent"]),
          postcode: failure.broken ? random.whole(100, 999) : "3011",
        },
      };
    case "inventory":
      return {
        sku: aggregate,
        warehouse: random.pick(["north", "south"]),
        ...common,
        delta: failure.broken ? null : random.whole(-20, 60),
      };
    case "notifications":
      return {
        customerId: aggregate,
        ...common,
        template: random.pick(["welcome_v2", "receipt_v3"]),
        locale: random.pick(["de", "fr", "en"]),
      };
  }
}

function orderBody(failure: Failure, random: Random) {
  if (failure.broken) return { items: [], total: failure.errorCode === "DESERIALIZATION_ERROR" ? "n/a" : 0 };
  const items = Array.from({ length: random.whole(1, 4) }, () => ({
    sku: `SKU-${random.whole(1_000, 9_999)}`,
    quantity: random.whole(1, 5),
    price: random.whole(199, 19_999) / 100,
  }));
  const total = Math.round(items.reduce((sum, item) => sum + item.quantity * item.price, 0) * 100) / 100;
  return { items, total };
}

/** Makes some payloads invalid: the dry run refuses these events. */
export const PAYLOAD_SCHEMAS: Partial<Record<Failure["source"], Record<string, unknown>>> = {
  orders: {
    type: "object",
    required: ["orderId", "items", "total"],
    properties: {
      orderId: { type: "integer" },
      items: { type: "array", minItems: 1, items: { type: "object", required: ["sku", "quantity"] } },
      total: { type: "number", exclusiveMinimum: 0 },
    },
  },
  payments: {
    type: "object",
    required: ["paymentId", "amount", "currency"],
    properties: { amount: { type: "number", exclusiveMinimum: 0 }, currency: { type: "string", minLength: 3 } },
  },
  shipping: {
    type: "object",
    required: ["shipmentId", "address"],
    properties: { address: { type: "object", properties: { postcode: { type: "string" } } } },
  },
  inventory: { type: "object", required: ["sku", "delta"], properties: { delta: { type: "integer" } } },
};
