import type { BasicProperties } from "@/lib/brokers/rabbitmq/basic-properties";
import type { FieldTable, FieldValue } from "@/lib/brokers/rabbitmq/field-table";

/** Header tables for tests: text stays text, everything else is spelled as a typed field. */
export function table(entries: Record<string, string | FieldValue>): FieldTable {
  return Object.entries(entries).map(([name, value]) => [
    name,
    typeof value === "string" ? { type: "longstr", value } : value,
  ]);
}

export function death(facts: {
  queue: string;
  reason: string;
  count?: bigint;
  exchange?: string;
  keys?: string[];
  seconds?: bigint;
}): FieldValue {
  return {
    type: "table",
    value: table({
      count: { type: "int64", value: facts.count ?? 1n },
      reason: facts.reason,
      queue: facts.queue,
      time: { type: "timestamp", value: facts.seconds ?? 1_795_163_502n },
      exchange: facts.exchange ?? "orders.x",
      "routing-keys": {
        type: "array",
        value: (facts.keys ?? ["orders.created"]).map((value) => ({ type: "longstr", value })),
      },
    }),
  };
}

export function deaths(...entries: FieldValue[]): FieldValue {
  return { type: "array", value: entries };
}

export type AmqpDelivery = { exchange: string; routingKey: string; properties: BasicProperties; body: Uint8Array };

export function delivery(
  headers: Record<string, string | FieldValue> = {},
  rest: { body?: string | Uint8Array; properties?: BasicProperties; exchange?: string; routingKey?: string } = {},
): AmqpDelivery {
  const body = rest.body ?? "{}";
  return {
    exchange: rest.exchange ?? "dlx",
    routingKey: rest.routingKey ?? "dead",
    properties: { contentType: "application/json", headers: table(headers), ...rest.properties },
    body: typeof body === "string" ? Buffer.from(body) : body,
  };
}
