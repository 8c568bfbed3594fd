import { describe, expect, it } from "vitest";
import { createTargetState, execute } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { manualClock, settle } from "@/lib/retry/testing/manual-clock";

describe("execute", () => {
  it("retries a transient failure and succeeds", async () => {
    const clock = manualClock();
    const policy = POLICY_PRESETS["slow-lane"];
    const target = createTargetState(policy, clock);
    let calls = 0;
    const done = execute(
      {
        idempotencyKey: "k",
        retryable: true,
        attempt: async () => {
          calls++;
          if (calls < 3) throw Object.assign(new Error("x"), { code: "ECONNRESET" });
          return 7;
        },
      },
      { policy, target, clock, random: () => 0.5 },
    );
    await settle();
    expect(calls).toBe(1);
    await clock.advance(500);
    expect(calls).toBe(2);
    await clock.advance(1000);
    expect(await done).toMatchObject({ kind: "ok", value: 7, attempts: 3, elapsedMs: 1500 });
    expect(clock.timers).toBe(0);
  });
});
