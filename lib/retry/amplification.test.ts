import { describe, expect, it } from "vitest";
import { attemptsAllowed, outgoingRetryCount, RETRY_COUNT_HEADER, readRetryCount } from "@/lib/retry/amplification";
import { createTargetState, execute } from "@/lib/retry/execute";
import { manualClock } from "@/lib/retry/testing/manual-clock";
import { BARE, finish, httpError } from "@/lib/retry/testing/vectors/operation";

describe("the retry count", () => {
  it.each([
    ["0", 0],
    ["3", 3],
    [" 12 ", 12],
    ["999999999", 999_999_999],
    ["1234567890", 0],
    ["-1", 0],
    ["2.5", 0],
    ["x3", 0],
    ["3x", 0],
    ["", 0],
    [null, 0],
    [undefined, 0],
  ])("of %j is %d", (value, expected) => {
    expect(readRetryCount(value)).toBe(expected);
  });

  it("lowers what this layer may do, but never to nothing, and is passed on", () => {
    expect([0, 2, 4, 5, 99].map((incoming) => attemptsAllowed(5, incoming))).toEqual([5, 3, 1, 1, 1]);
    expect([1, 2, 3].map((attempt) => outgoingRetryCount(4, attempt))).toEqual([4, 5, 6]);
    expect(RETRY_COUNT_HEADER).toBe("x-retry-count");
  });
});

describe("two layers", () => {
  /** A layer of three attempts above another, above a target that always fails. */
  async function callsThroughTwoLayers(above: "tells the layer below" | "hears the layer below"): Promise<number> {
    const clock = manualClock();
    const policy = { ...BARE, maxAttempts: 3 };
    const options = () => ({ policy, target: createTargetState(policy, clock), clock, random: () => 0 });
    let calls = 0;
    const inner = async (incomingRetryCount: number) => {
      const attempt = async () => {
        calls++;
        throw httpError(503);
      };
      const outcome = await execute<never>(
        { idempotencyKey: "k", retryable: true, attempt, incomingRetryCount },
        options(),
      );
      const exhausted = above === "hears the layer below" && outcome.attempts > 1;
      throw Object.assign(httpError(503), { retriesExhausted: exhausted });
    };
    const attempt = ({ retryCount }: { retryCount: number }) =>
      inner(above === "tells the layer below" ? retryCount : 0);
    await finish(clock, execute({ idempotencyKey: "k", retryable: true, attempt }, options()));
    return calls;
  }

  it("never multiply: the layer above is not nearest to the fault and does not repeat", async () => {
    expect(await callsThroughTwoLayers("hears the layer below")).toBe(3);
  });

  it("add up instead of multiplying when only the count is passed on", async () => {
    // 3 + 2 + 1 instead of 9: each repeat above leaves one less below.
    expect(await callsThroughTwoLayers("tells the layer below")).toBe(6);
  });
});
