import { describe, expect, test } from "vitest";
import { REDRIVE_ATTEMPT, RETRY_COUNT } from "@/lib/brokers/conventions/redrive-mark";
import type { Header } from "@/lib/platform/plain/dead-letter.pure";
import { incomingRetryCount } from "@/lib/redrive/run/incoming-retry-count";
import { RETRY_COUNT_HEADER } from "@/lib/retry/amplification";

describe("the repeats a parked message brings along", () => {
  test.each<[string, Header[], number]>([
    ["none", [], 0],
    ["a count", [["X-Retry-Count", "3"]], 3],
    ["a typed AMQP count", [["x-retry-count", '{"!":"int32","value":4}', "amqp"]], 4],
    ["a wide AMQP count", [["x-retry-count", '{"!":"int64","value":"12"}', "amqp"]], 12],
    ["a negative count", [["x-retry-count", '{"!":"int32","value":-4}', "amqp"]], 0],
    ["a word", [["x-retry-count", "often"]], 0],
    ["nothing in it", [["x-retry-count", null]], 0],
    ["bytes", [["x-retry-count", "Mw==", "bytes"]], 0],
    [
      "the first of several",
      [
        ["x-retry-count", "2"],
        ["x-retry-count", "9"],
      ],
      2,
    ],
    [
      "a bounce: less what our own redrive had added",
      [
        ["x-retry-count", "5"],
        ["x-redrive-attempt", "3"],
      ],
      3,
    ],
    [
      "a bounce of a first send",
      [
        ["x-retry-count", "5"],
        ["x-redrive-attempt", "1"],
      ],
      5,
    ],
    ["a bounce whose consumer dropped the count", [["x-redrive-attempt", "3"]], 0],
  ])("%s", (_name, headers, expected) => {
    expect(incomingRetryCount(headers)).toBe(expected);
  });

  test("is read under the names that are written", () => {
    expect(RETRY_COUNT).toBe(RETRY_COUNT_HEADER);
    expect(REDRIVE_ATTEMPT).toBe("x-redrive-attempt");
  });
});
