import { expect, test } from "vitest";
import { poll } from "@/lib/brokers/poll";
import { manualClock } from "@/lib/testing/manual-clock";

test("hands out what a look has taken when the signal fires during the look", async () => {
  const changing = new AbortController();
  const look = async () => {
    changing.abort();
    return ["taken"];
  };
  const options = { clock: manualClock(), signal: changing.signal, everyMs: 10 };
  expect(await poll(look, options)).toEqual(["taken"]);
  expect(await poll(look, options)).toEqual([]);
});
