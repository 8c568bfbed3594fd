import { describe, expect, test } from "vitest";
import { PublishError } from "@/lib/brokers/port";
import { settingsFrom } from "@/lib/guard/settings/settings.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { ExaminedItem } from "@/lib/redrive/run/examine";
import type { Finish } from "@/lib/redrive/run/finish";
import type { Redriver } from "@/lib/redrive/run/redriver";
import { sendRun } from "@/lib/redrive/run/send";
import type { Session } from "@/lib/redrive/run/session";
import { sliceSignals } from "@/lib/redrive/run/slice-signals";
import { zeroCounters } from "@/lib/retry/counters";
import { createTargetState, type TargetState } from "@/lib/retry/execute";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import { manualClock } from "@/lib/testing/manual-clock";

const POLICY: Policy = {
  ...POLICY_PRESETS["slow-lane"],
  maxAttempts: 3,
  attemptTimeoutMs: 1_000,
  deadlineMs: 9_000,
  marginMs: 500,
  backoff: { kind: "fixed", delayMs: 2_000, jitter: { kind: "none" } },
  budget: { kind: "unlimited" },
  breaker: null,
  healing: null,
};

/** One item on its way to a target whose answers, places and store the test decides. */
function bench(
  answers: (() => unknown)[],
  policy: Partial<Policy> = {},
  before: (state: TargetState) => void = () => {},
) {
  const clock = manualClock();
  const whole = { ...POLICY, ...policy };
  const quiet = () => undefined;
  const log = { info: quiet, warn: quiet, error: quiet };
  const on = {
    clock,
    /** What a repeat waits with for its token. */
    repeatSignal: null as AbortSignal | null,
    /** How long ago the question was asked whether it may be sent. */
    answerMs: 0,
    waitForToken: (_: AbortSignal): Promise<void> => Promise.resolve(),
    closeAttempt: (): Promise<void> => Promise.resolve(),
    halt: new AbortController(),
    stop: new AbortController(),
    sent: 0,
    /** What was taken and sent, in order. */
    steps: [] as string[],
    finished: [] as Finish[],
    run: Promise.resolve(true),
  };
  const state = createTargetState(whole, clock, { bulkhead: { permits: 1, queueMax: 9 } });
  before(state);
  const target = {
    row: { name: "orders", lane: "main", retryable: true },
    publisher: {
      publish: async () => {
        on.sent++;
        on.steps.push("send");
        return answers.shift()?.() ?? { status: "HTTP_200" };
      },
    },
    policy: whole,
    policyVersion: { name: "slow-lane", version: 3 },
    state,
    stopped: on.stop.signal,
    takeToken: async (signal: AbortSignal) => {
      on.steps.push("token of its target");
      if (on.sent === 0) return;
      on.repeatSignal = signal;
      await on.waitForToken(signal);
    },
  };
  const deps = {
    clock,
    log,
    random: () => 0.5,
    attempts: {
      open: async () => ({ openedAtMs: 0, lookedMs: clock.nowMs() - on.answerMs, wave: { id: "wave", open: 1 } }),
      close: () => on.closeAttempt(),
      ended: () => undefined,
    },
  } as unknown as Redriver;
  const session = {
    redrive: () => ({ earlier: "hold" }),
    takeToken: async () => void on.steps.push("token of its redrive"),
    takePlace: async () => undefined,
    releasePlace: () => undefined,
    finish: async (finish: Finish) => on.finished.push(finish) > 0,
  } as unknown as Session;
  const examined = {
    item: {
      id: "i1",
      redriveId: "r1",
      fence: 4n,
      attempts: 0,
      source: "orders",
      aggregateId: null,
      eventId: "e1",
      producer: "",
      redrives: 0,
      failures: 0,
    },
    findings: [],
    settings: settingsFrom({}),
    decided: null,
    send: {
      target,
      body: { payload: Buffer.from("{}"), headers: [], contentType: "a/b", origin: {} },
      ambiguous: false,
    },
  } as unknown as ExaminedItem;
  on.run = sendRun(deps, session, [examined], sliceSignals(on.halt.signal, new AbortController().signal));
  return Object.assign(on, { target: state });
}

function busy(retryAfter: string | null = null): never {
  throw new PublishError("HTTP_503", "busy", { status: 503, sent: "no", retryAfter });
}

test("each send takes a token of its redrive and one of its target before it leaves (I9)", async () => {
  const on = bench([() => busy()]);
  await on.clock.advance(3_000);
  await on.run;
  const send = ["token of its redrive", "token of its target", "send"];
  expect(on.steps).toEqual([...send, ...send]);
});

test("a worker that stood still since it asked whether it may send begins nothing: the answer to a stop did not wait for it", async () => {
  const on = bench([]);
  on.answerMs = 1_501;
  await on.run;
  expect(on.sent).toBe(0);
  expect(on.finished).toMatchObject([{ outcome: { kind: "back" }, closes: [{ state: "failed", code: "CANCELLED" }] }]);
});

describe("an item that is repeated", () => {
  test("leaves its place at the target during the backoff, and enters again", async () => {
    const on = bench([() => busy()]);
    await on.clock.advance(1_000);
    expect([on.sent, on.target.bulkhead!.snapshot().inUse]).toEqual([1, 0]);
    await on.clock.advance(1_500);
    await on.run;
    expect([on.sent, on.target.bulkhead!.snapshot().inUse]).toEqual([2, 0]);
    expect(on.finished[0]!.outcome).toMatchObject({ kind: "delivered" });
  });

  test("stops waiting for its place and token when its deadline ends the operation", async () => {
    const on = bench([() => busy()]);
    on.waitForToken = (signal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    await on.clock.advance(3_000);
    expect(on.repeatSignal!.aborted).toBe(false);
    await on.clock.advance(7_000);
    await on.run;
    expect(on.repeatSignal!.aborted).toBe(true);
    expect(on.finished[0]!.outcome).toMatchObject({ kind: "failed", code: "HTTP_503" });
    expect(on.target.bulkhead!.snapshot().inUse).toBe(0);
  });

  test("is handed back when its target is held meanwhile, with the attempts it has made", async () => {
    const on = bench([() => busy()], { breaker: POLICY_PRESETS["slow-lane"].breaker });
    await on.clock.advance(1_000);
    on.target.force("open");
    await on.clock.advance(2_000);
    await on.run;
    expect(on.finished).toMatchObject([{ outcome: { kind: "back" }, attempts: 1, after: null }]);
  });

  test("is handed back unsent and uncounted when its target is held before", async () => {
    const on = bench([], { breaker: POLICY_PRESETS["slow-lane"].breaker }, (state) => state.force("open"));
    await on.run;
    expect(on.finished).toMatchObject([{ outcome: { kind: "back" }, attempts: 0, after: null }]);
    expect([on.sent, on.target.counters]).toEqual([0, zeroCounters()]);
  });

  test("keeps what its target asked for when the store is away, and its attempt's end with it", async () => {
    const on = bench([() => busy("5")]);
    on.closeAttempt = () => Promise.reject(new DomainError("store-unavailable", "away"));
    await on.clock.advance(10);
    await on.run;
    const [finish] = on.finished;
    expect(finish).toMatchObject({
      outcome: { kind: "later" },
      attempts: 1,
      closes: [{ attempt: 1, state: "failed" }],
    });
    expect(finish!.outcome).toMatchObject({ waitMs: 5_000 });
  });

  test("keeps the rest of what its target asked for when it is halted, and no backoff of its own", async () => {
    const asked = bench([() => busy("5")]);
    const own = bench([() => busy()]);
    for (const on of [asked, own]) {
      await on.clock.advance(1_200);
      on.halt.abort(new Error("paused"));
      await on.run;
    }
    expect(asked.finished[0]!.outcome).toEqual({ kind: "later", waitMs: 3_800 });
    expect(own.finished[0]!.outcome).toEqual({ kind: "back" });
  });
});
