import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { PublishError } from "@/lib/brokers/port";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { createLog } from "@/lib/platform/log";
import { closeOf, logAttempt } from "@/lib/redrive/run/attempt-record";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import type { SliceTarget } from "@/lib/redrive/targets/target";
import { type AttemptRecord, createTargetState, execute } from "@/lib/retry/execute";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { manualClock } from "@/lib/retry/testing/manual-clock";
import { finish } from "@/lib/retry/testing/vectors/operation";

const ITEM = {
  id: "01980000-0000-7000-8000-000000000001",
  redriveId: "01980000-0000-7000-8000-000000000002",
  source: "orders",
  eventId: "event-7",
  producer: "",
  aggregateId: "order-9",
  traceId: "0af7651916cd43dd8448eb211c80319c",
  errorCode: "TIMEOUT",
} as SliceItem;

/** Runs an operation through the engine whose sends fail as told, then succeed. Answers what it recorded. */
async function records(failures: Error[]) {
  const clock = manualClock();
  const policy = POLICY_PRESETS["slow-lane"];
  const target = {
    row: { name: "orders.slow", lane: "slow", retryable: true },
    policy,
    policyVersion: { name: "slow-lane", version: 4 },
    state: createTargetState(policy, clock),
  } as unknown as SliceTarget;
  const made: AttemptRecord[] = [];
  const call = {
    idempotencyKey: "orders:event-7",
    retryable: true,
    attempt: async () => {
      const failure = failures.shift();
      if (failure) throw failure;
    },
    onClose: (record: AttemptRecord) => void made.push(record),
  };
  await finish(clock, execute(call, { policy, target: target.state, clock, random: () => 0.5 }));
  return { clock, target, made };
}

const INTENT = { openedAtMs: 0, lookedMs: 0, wave: { id: "wave", open: 1 } };

/** The line, parsed from what the log wrote. */
function lineOf({ clock, target, made }: Awaited<ReturnType<typeof records>>, index: number): Record<string, unknown> {
  const written: string[] = [];
  const destination = new Writable({
    write: (chunk, _, done) => {
      written.push(String(chunk));
      done();
    },
  });
  const log = createLog({ process: "worker", destination });
  const record = made[index]!;
  logAttempt({ log, clock }, { item: ITEM, target, retryCount: 2 }, record, closeOf(ITEM, target, record, INTENT));
  expect(written).toHaveLength(1);
  return JSON.parse(written[0]!) as Record<string, unknown>;
}

const throttled = () => new PublishError("HTTP_429", "too many", { status: 429, sent: "no", retryAfter: "2" });
const broken = () => new PublishError("HTTP_500", "order 4711 exploded", { status: 500, sent: "maybe" });

describe("one wide line per attempt", () => {
  test("tells where it went, under what, how it ended and what follows", async () => {
    const run = await records([throttled(), broken()]);
    expect(lineOf(run, 0)).toMatchObject({
      ...{ msg: "attempt", redriveId: ITEM.redriveId, eventId: "event-7", aggregateId: "order-9" },
      ...{ traceId: ITEM.traceId, source: "orders", errorCode: "TIMEOUT", target: "orders.slow", lane: "slow" },
      ...{ policy: "slow-lane@4", attempt: 1, retryCount: 2, hedge: false, outcome: "failed", code: "HTTP_429" },
      ...{ status: 429, kind: "throttled", sent: "no", latencyMs: 0, waitedMs: 0, timeoutMs: 3_000 },
      ...{ next: "retry", reason: null, delayMs: 2_000, retryAfterHonored: true, breaker: "closed" },
      budgetLeft: expect.any(Number),
    });
    expect(lineOf(run, 1)).toMatchObject({
      ...{ attempt: 2, outcome: "ambiguous", code: "HTTP_500", kind: "transient", sent: "maybe", next: "retry" },
      ...{ delayMs: 1_000, retryAfterHonored: false },
    });
    expect(lineOf(run, 2)).toMatchObject({
      ...{ attempt: 3, outcome: "delivered", code: "OK", status: null, kind: null, sent: null, next: null },
      ...{ reason: null, delayMs: null, retryAfterHonored: false },
    });
  });

  test("tells why nothing follows, and never what the target said", async () => {
    const run = await records([new PublishError("HTTP_422", "order 4711 is odd", { status: 422, sent: "no" })]);
    const line = lineOf(run, 0);
    expect(line).toMatchObject({ next: "give-up", reason: "permanent", delayMs: null });
    expect(JSON.stringify(line)).not.toContain("4711");
  });
});

describe("what is kept of an attempt", () => {
  test("is the decision with everything it was made from, and no text of the target's", async () => {
    const { target, made } = await records([broken()]);
    const close = closeOf(ITEM, target, made[0]!, INTENT);
    expect(close).toMatchObject({ attempt: 1, state: "ambiguous", code: "HTTP_500", detail: "order 4711 exploded" });
    expect(close.decision).toMatchObject({
      policy: { name: "slow-lane", version: 4 },
      retryable: true,
      next: { kind: "retry", delayMs: 500 },
      inputs: { attempt: 1, lastAttempt: 5, draw: 0.5 },
    });
    expect(JSON.stringify(close.decision)).not.toContain("4711");
  });

  test("has the words of the causes that say something more, without their credentials", async () => {
    const deepest = new Error("connect ECONNREFUSED 10.0.0.9:5671");
    const cause = new Error("handshake with amqps://ann:hunter2@broker failed", { cause: deepest });
    const outer = new PublishError("AMQP_LOST", "lost the broker: connect ECONNREFUSED 10.0.0.9:5671", {
      sent: "no",
      cause,
    });
    const { target, made } = await records([outer]);
    expect(closeOf(ITEM, target, made[0]!, INTENT).detail).toBe(
      `lost the broker: connect ECONNREFUSED 10.0.0.9:5671; caused by: handshake with amqps://${REDACTED}@broker failed`,
    );
  });

  test("is no decision where nothing was decided", async () => {
    const { target, made } = await records([]);
    expect(closeOf(ITEM, target, made[0]!, INTENT)).toMatchObject({ state: "delivered", detail: null, decision: null });
  });
});
