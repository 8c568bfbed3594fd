import pino from "pino";
import { expect, test } from "vitest";
import { eachAlone } from "@/lib/redrive/life/each-alone";

test("a fault is said once while it lasts, and those of rows that are gone are forgotten", async () => {
  const said: string[] = [];
  const log = pino({}, { write: (line: string) => said.push(JSON.parse(line).id) });
  const fail = (ids: readonly string[]) =>
    eachAlone(
      log,
      ids.map((id) => ({ id })),
      "work",
      async () => Promise.reject(new Error("refused")),
    );
  await fail(["first", "second"]);
  await fail(["first", "second"]);
  expect(said).toEqual(["first", "second"]);
  await fail(Array.from({ length: 999 }, (_, index) => `gone-${index}`));
  said.length = 0;
  await fail(["second", "first"]);
  expect(said).toEqual(["first"]);
});
