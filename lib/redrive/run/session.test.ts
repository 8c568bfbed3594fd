import { describe, expect, it } from "vitest";
import type { Deps } from "@/lib/lane/deps";
import type { BucketSpec, TokenBucket } from "@/lib/lane/port";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { createSessions } from "@/lib/redrive/run/session";
import { manualClock } from "@/lib/testing/manual-clock";

/** The watch looks every half second. */
const LOOK_MS = 600;

const TARGET = { id: "t1", ratePerSecond: null, warmUpMs: 0, resumedAtMs: null };

/** Sessions over a store that holds one redrive and can be away, and a bucket that notes how it was asked. */
function sessionsOf(first: { state: string; ratePerSecond: number | null }) {
  const clock = manualClock();
  const store = { row: { id: "r1", lane: "main", ...first }, away: false, reads: 0 };
  const query = async () => {
    store.reads++;
    if (store.away) throw new DomainError("store-unavailable", "away");
    return [store.row];
  };
  const asked: BucketSpec[] = [];
  const takeUpTo = async (spec: BucketSpec) => {
    asked.push(spec);
    return spec.ratePerSecond === 0 ? { granted: 0, waitMs: Number.POSITIVE_INFINITY } : { granted: 1, waitMs: 0 };
  };
  const quiet = () => undefined;
  const deps = { db: { query }, clock, log: { info: quiet, warn: quiet, error: quiet } } as unknown as Deps;
  return { sessions: createSessions(deps, { takeUpTo } as unknown as TokenBucket), store, clock, asked };
}

describe("the session of a redrive", () => {
  it("that could not be opened is opened by the next call", async () => {
    const { sessions, store } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    store.away = true;
    const failing = [sessions.open("r1"), sessions.open("r1")];
    for (const open of failing) await expect(open).rejects.toMatchObject({ code: "store-unavailable" });
    expect(store.reads).toBe(1);
    store.away = false;
    expect((await sessions.open("r1"))!.redrive().ratePerSecond).toBe(7);
  });

  it("is watched as long as a slice uses it, whichever slice leaves meanwhile", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    const first = await sessions.open("r1");
    const joining = sessions.open("r1");
    first!.release();
    first!.release();
    const second = (await joining)!;
    store.row = { ...store.row, ratePerSecond: 3 };
    await clock.advance(LOOK_MS);
    expect(second.redrive().ratePerSecond).toBe(3);
    store.row = { ...store.row, state: "PAUSED" };
    await clock.advance(LOOK_MS);
    expect(second.stopped.aborted).toBe(true);
    second.release();
    expect(clock.pending()).toBe(0);
  });

  it("that ended is no session for the redrive that runs again, and none for one that does not", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: null });
    const ended = (await sessions.open("r1"))!;
    store.row = { ...store.row, state: "PAUSED" };
    await clock.advance(LOOK_MS);
    expect(await sessions.open("r1")).toBeNull();
    store.row = { ...store.row, state: "RUNNING" };
    const again = (await sessions.open("r1"))!;
    expect(again.stopped.aborted).toBe(false);
    ended.release();
    again.release();
    expect(clock.pending()).toBe(0);
  });

  it("is read once for all slices that open it together, and has one watch", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    const opened = await Promise.all([sessions.open("r1"), sessions.open("r1"), sessions.open("r1")]);
    expect(store.reads).toBe(1);
    await clock.advance(LOOK_MS);
    expect(store.reads).toBe(2);
    for (const session of opened) session!.release();
    expect(clock.pending()).toBe(0);
  });

  it("that is opened anew after its last slice left is another one, which the first release does not end", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    const first = (await sessions.open("r1"))!;
    first.release();
    const second = (await sessions.open("r1"))!;
    first.release();
    store.row = { ...store.row, ratePerSecond: 2 };
    await clock.advance(LOOK_MS);
    expect(second.redrive().ratePerSecond).toBe(2);
    second.release();
    expect(clock.pending()).toBe(0);
  });

  it("ends on another lane, where its slices are enqueued", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: null });
    const session = (await sessions.open("r1"))!;
    store.row = { ...store.row, lane: "slow" };
    await clock.advance(LOOK_MS);
    expect(session.stopped.aborted).toBe(true);
    expect(session.redrive().lane).toBe("main");
    const moved = (await sessions.open("r1"))!;
    expect([moved.redrive().lane, moved.stopped.aborted]).toEqual(["slow", false]);
  });

  it("works on with what it knows while the store is away, and looks again", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    const session = (await sessions.open("r1"))!;
    store.away = true;
    await clock.advance(3 * LOOK_MS);
    expect([session.stopped.aborted, session.redrive().ratePerSecond]).toEqual([false, 7]);
    store.away = false;
    store.row = { ...store.row, state: "CANCELLED" };
    await clock.advance(LOOK_MS);
    expect(session.stopped.aborted).toBe(true);
  });

  it("gives a new rate to a slice that waits for a token at the old one", async () => {
    const { sessions, store, clock, asked } = sessionsOf({ state: "RUNNING", ratePerSecond: 0 });
    const session = (await sessions.open("r1"))!;
    let taken = false;
    const take = session.takeToken(TARGET, new AbortController().signal).then(() => {
      taken = true;
    });
    await clock.advance(LOOK_MS);
    expect(taken).toBe(false);
    store.row = { ...store.row, ratePerSecond: 5 };
    await clock.advance(2 * LOOK_MS);
    await take;
    expect(asked.at(-1)).toMatchObject({ key: "redrive:r1", ratePerSecond: 5 });
    session.release();
    expect(clock.pending()).toBe(0);
  });

  it("takes tokens at a third of the rate of a target that warms up, and none beside the target's own after it", async () => {
    const { sessions, store, clock, asked } = sessionsOf({ state: "RUNNING", ratePerSecond: null });
    Object.assign(store.row, { beganAtMs: clock.wallMs() });
    const session = (await sessions.open("r1"))!;
    const target = { ...TARGET, ratePerSecond: 60, warmUpMs: 1_500 };
    await session.takeToken(target, new AbortController().signal);
    expect(asked).toMatchObject([{ key: "warm-up:r1:t1", ratePerSecond: 20 }]);
    await clock.advance(1_500);
    await session.takeToken(target, new AbortController().signal);
    expect(asked).toHaveLength(1);
    session.release();
  });
});
