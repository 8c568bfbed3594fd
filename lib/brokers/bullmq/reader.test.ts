import { expect, test } from "vitest";
import { soonAgainMs } from "@/lib/brokers/bullmq/reader";

test("a walk that passed jobs by is followed by one after as long as it took, at most a minute", () =>
  expect([0, 80, 20_000, 600_000].map(soonAgainMs)).toEqual([0, 80, 20_000, 60_000]));
