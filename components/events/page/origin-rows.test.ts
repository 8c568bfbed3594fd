import { expect, it } from "vitest";
import { originRows } from "./origin-rows";

it("shows coordinates first, unfolds properties, and leaves out what is not there", () => {
  expect(
    originRows({
      convention: "rabbitmq-x-death",
      vhost: "/",
      exchange: "orders",
      routingKeys: ["order.created", "eu"],
      queue: "orders.q",
      consumer: undefined,
      properties: { priority: 4, appId: null },
    }),
  ).toEqual([
    { name: "queue", value: "orders.q" },
    { name: "exchange", value: "orders" },
    { name: "routing keys", value: "order.created, eu" },
    { name: "convention", value: "rabbitmq-x-death" },
    { name: "vhost", value: "/" },
    { name: "priority", value: "4" },
  ]);
  expect(originRows({})).toEqual([]);
});
