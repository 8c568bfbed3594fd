import { describe, expect, it } from "vitest";
import { DomainError } from "@/lib/core/problem";
import type { TokenBucket } from "@/lib/lane/port";
import type { Deps } from "@/lib/redriving/deps";
import { createSessions } from "@/lib/redriving/session";
import { manualClock } from "@/lib/testing/manual-clock";

/** Sessions over a store that holds one redrive and can be away. */
function sessionsOf(first: { state: string; ratePerSecond: number | null }) {
  const clock = manualClock();
  const store = { row: { id: "r1", lane: "main", ...first }, away: false, reads: 0 };
  const query = async () => {
    store.reads++;
    if (store.away) throw new DomainError("store-unavailable", "away");
    return [store.row];
  };
  const quiet = () => undefined;
  const deps = { db: { query }, clock, log: { info: quiet, warn: quiet, error: quiet } } as unknown as Deps;
  return { sessions: createSessions(deps, {} as TokenBucket), store, clock };
}

describe("the session of a redrive", () => {
  it("that could not be opened is opened by the next one that asks", async () => {
    const { sessions, store } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    store.away = true;
    const failing = [sessions.open("r1"), sessions.open("r1")];
    for (const open of failing) await expect(open).rejects.toMatchObject({ code: "store-unavailable" });
    expect(store.reads).toBe(1);
    store.away = false;
    expect((await sessions.open("r1"))!.redrive().ratePerSecond).toBe(7);
  });

  it("is watched as long as somebody uses it, whoever leaves meanwhile", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: 7 });
    const first = await sessions.open("r1");
    const joining = sessions.open("r1");
    first!.release();
    first!.release();
    const second = (await joining)!;
    store.row = { ...store.row, ratePerSecond: 3 };
    await clock.advance(600);
    expect(second.redrive().ratePerSecond).toBe(3);
    store.row = { ...store.row, state: "PAUSED" };
    await clock.advance(600);
    expect(second.stopped.aborted).toBe(true);
    second.release();
    expect(clock.pending()).toBe(0);
  });

  it("that ended is no session for the redrive that runs again, and none for one that does not", async () => {
    const { sessions, store, clock } = sessionsOf({ state: "RUNNING", ratePerSecond: null });
    const ended = (await sessions.open("r1"))!;
    store.row = { ...store.row, state: "PAUSED" };
    await clock.advance(600);
    expect(await sessions.open("r1")).toBeNull();
    store.row = { ...store.row, state: "RUNNING" };
    const again = (await sessions.open("r1"))!;
    expect(again.stopped.aborted).toBe(false);
    ended.release();
    again.release();
    expect(clock.pending()).toBe(0);
  });
});
