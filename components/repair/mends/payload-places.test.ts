import { expect, it } from "vitest";
import type { EventDetail } from "@/lib/events/events.shapes";
import { placesOf } from "./payload-places";

const event = (text: string | null, headers: EventDetail["headers"] = []) =>
  ({ body: { text }, headers }) as EventDetail;

it("offers each place of the payloads once, in the order of the payload, and of a list its first element", () => {
  const first = event('{"order": {"id": 1, "a/b": {"m~n": 2}}, "lines": [{"sku": "A"}, {"qty": 1}]}', [
    ["x-tenant", "n"],
  ]);
  const second = event('{"order": {"id": "x"}, "note": null}', [["x-tenant", "s"]]);
  expect(placesOf([first, second])).toEqual([
    "/order",
    "/order/id",
    "/order/a~1b",
    "/order/a~1b/m~0n",
    "/lines",
    "/lines/0",
    "/lines/0/sku",
    "/note",
    "header:x-tenant",
  ]);
});

it("offers nothing of bytes, of broken JSON without names, and of endless nesting", () => {
  expect(placesOf([event(null), event("oops"), event("[".repeat(400_000))])).toEqual([]);
});
