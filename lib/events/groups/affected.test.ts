import { expect, test } from "vitest";
import { affectedOf } from "@/lib/events/groups/affected.pure";

const row = (tags: Record<string, string>, aggregateId: string | null = null, source = "orders") => ({
  ...{ source, aggregateType: "order", aggregateId, tags },
});

test("counts the values of tags, the most frequent first, and leaves out those that differ in each event", () => {
  const rows = [
    row({ tenant: "north", region: "eu", orderId: "1" }),
    row({ tenant: "north", region: "us", orderId: "2" }),
    row({ tenant: "south", orderId: "3" }),
  ];
  expect(affectedOf(rows).tags).toEqual([
    {
      key: "tenant",
      values: [
        { value: "north", count: 2 },
        { value: "south", count: 1 },
      ],
      others: 0,
    },
  ]);
  expect(affectedOf([row({ orderId: "1" })]).tags).toEqual([
    { key: "orderId", values: [{ value: "1", count: 1 }], others: 0 },
  ]);
});

test("shows five values of a tag, and how many events have others", () => {
  const rows = Array.from({ length: 16 }, (_, index) => row({ shop: `s-${index % 8}` }));
  const [shop] = affectedOf(rows).tags;
  expect(shop!.values).toHaveLength(5);
  expect(shop!.others).toBe(6);
});

test("counts aggregates by source, type and id", () => {
  const rows = [row({}, "1"), row({}, "1"), row({}, "2"), row({}, "1", "billing"), row({}, null)];
  expect(affectedOf(rows).aggregates).toBe(3);
});
