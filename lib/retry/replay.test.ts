import { describe, expect, it } from "vitest";
import type { Policy } from "@/lib/retry/policy";
import { type RecordedOperation, replay } from "@/lib/retry/replay";
import { settle } from "@/lib/retry/testing/manual-clock";
import { bench, coded } from "@/lib/retry/testing/scripted-call";

const POLICY: Partial<Policy> = {
  maxAttempts: 5,
  deadlineMs: 60_000,
  backoff: { kind: "exponential", baseMs: 400, factor: 2, capMs: 9_000, jitter: { kind: "full" } },
  budget: { kind: "quota", capacity: 30, cost: { transient: 10, throttled: 5 }, reward: 1 },
};

/** Runs an operation through `failures` and then a success, and answers its history as it would be stored. */
async function recorded(failures: Error[], policy: Partial<Policy> = {}): Promise<RecordedOperation> {
  const on = bench({ ...POLICY, ...policy });
  const done = on.start();
  await settle();
  for (const failure of failures) {
    on.sends.at(-1)!.reject(failure);
    await on.clock.next();
  }
  on.sends.at(-1)!.resolve("ok");
  await done;
  const history = { policy: on.policy, call: { idempotencyKey: "key", retryable: true }, attempts: on.records };
  return JSON.parse(JSON.stringify(history)) as RecordedOperation;
}

describe("a replay", () => {
  it("decides the same as the recorded run, from its JSON alone", async () => {
    const histories = [
      await recorded([coded("HTTP_500"), coded("ECONNRESET"), coded("HTTP_503")]),
      await recorded([coded("HTTP_429", { retryAfter: "3" }), coded("HTTP_429")]),
      await recorded([coded("HTTP_429", { retryAfter: "3000" })]),
      await recorded([coded("HTTP_500"), coded("HTTP_500"), coded("HTTP_500"), coded("HTTP_500")]),
      await recorded([coded("HTTP_404")]),
    ];
    expect(histories.map((history) => history.attempts.length)).toEqual([4, 3, 1, 4, 1]);
    for (const history of histories) expect(replay(history)).toEqual([]);
  });

  it("shows each attempt that another policy would have decided otherwise", async () => {
    const history = await recorded([coded("HTTP_500"), coded("HTTP_429", { retryAfter: "3" })]);
    const hasty = { ...history.policy, backoff: { kind: "fixed", delayMs: 1, jitter: { kind: "none" } } } as Policy;
    expect(replay(history, hasty)).toEqual([
      {
        attempt: 1,
        recorded: { kind: "retry", delayMs: 200, withdrawn: 10, honored: false },
        replayed: { kind: "retry", delayMs: 1, withdrawn: 10, honored: false },
      },
    ]);
    expect(replay(history, { ...history.policy, retryAfterMsMax: 1_000 })).toMatchObject([{ attempt: 2 }]);
  });

  it("decides the same for sends side by side, of which an early one fails late", async () => {
    const on = bench({ maxAttempts: 3, hedge: { delayMs: 100, sendsMax: 3 }, deadlineMs: 60_000 });
    const done = on.start();
    await on.clock.advance(200);
    expect(on.sends).toHaveLength(3);
    on.sends[0]!.reject(coded("HTTP_500"));
    await settle();
    on.sends[1]!.resolve("ok");
    await done;
    const attempts = JSON.parse(JSON.stringify(on.records)) as RecordedOperation["attempts"];
    expect(attempts[0]).toMatchObject({ attempt: 1, next: { kind: "give-up", reason: "exhausted" } });
    expect(replay({ policy: on.policy, call: { idempotencyKey: "key", retryable: true }, attempts })).toEqual([]);
  });

  it("notices any tampering with a recorded step", async () => {
    const history = await recorded([coded("HTTP_429", { retryAfter: "3" }), coded("HTTP_429", { retryAfter: "9999" })]);
    const [first, second] = history.attempts;
    const tampered = (next: unknown, of = first) => replay({ ...history, attempts: [{ ...of!, next: next as never }] });
    expect(tampered(first!.next)).toEqual([]);
    expect(tampered(null)).toHaveLength(1);
    expect(tampered({ ...first!.next, delayMs: 2_999 })).toHaveLength(1);
    expect(tampered({ ...first!.next, honored: false })).toHaveLength(1);
    expect(tampered({ kind: "give-up", reason: "budget" })).toHaveLength(1);
    expect(tampered({ kind: "defer", waitMs: 3_000 })).toHaveLength(1);
    expect(tampered(second!.next, second)).toEqual([]);
    expect(tampered({ kind: "defer", waitMs: 1 }, second)).toHaveLength(1);
    expect(tampered({ ...first!.next }, second)).toHaveLength(1);
    const refused = (await recorded([coded("HTTP_404")])).attempts[0]!;
    expect(tampered({ kind: "give-up", reason: "permanent" }, refused)).toEqual([]);
    expect(tampered({ kind: "give-up", reason: "budget" }, refused)).toHaveLength(1);
    expect(tampered({ kind: "retry", reason: "permanent" }, refused)).toHaveLength(1);
  });

  it("passes over attempts that had nothing to decide", async () => {
    const history = await recorded([]);
    expect(history.attempts).toHaveLength(1);
    expect(replay(history)).toEqual([]);
  });
});
