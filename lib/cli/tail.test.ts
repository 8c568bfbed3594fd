import { expect, it } from "vitest";
import type { EventList } from "@/lib/events/events.shapes";
import { manualClock } from "@/lib/testing/manual-clock";
import type { Api } from "./api";
import { createTail } from "./tail";

type Stored = { id: string; atMs: number };

/** A list as the API pages it, newest first, with windows relative to its own clock. */
function listOf(clock: ReturnType<typeof manualClock>, pageMax: number) {
  const stored: Stored[] = [];
  let reads = 0;
  let latencyMs = 0;
  const get = async (_: string, query: URLSearchParams) => {
    reads++;
    if (latencyMs > 0) await clock.advance(latencyMs);
    const from = query.get("from");
    const sinceMs = from === null ? 0 : clock.nowMs() - Number(/^-(\d+)s$/.exec(from)![1]) * 1_000;
    const cursor = query.get("cursor");
    const all = stored
      .filter(({ id, atMs }) => atMs >= sinceMs && (cursor === null || id < cursor))
      .sort((a, b) => (a.id < b.id ? 1 : -1));
    const items = all.slice(0, Math.min(pageMax, Number(query.get("limit"))));
    return {
      items,
      nextCursor: all.length > items.length ? items.at(-1)!.id : null,
      prevCursor: null,
    } as unknown as EventList;
  };
  let count = 0;
  const idAt = (atMs: number) => `${String(atMs).padStart(9, "0")}-${String(count++).padStart(6, "0")}`;
  return {
    api: { get } as unknown as Api,
    reads: () => reads,
    /** The server reads its clock this long after the request was sent. */
    delay: (ms: number) => {
      latencyMs = ms;
    },
    /** Committed now, with an id that was made `lateMs` ago. */
    park: (lateMs = 0) => {
      const id = idAt(clock.nowMs() - lateMs);
      stored.push({ id, atMs: clock.nowMs() - lateMs });
      return id;
    },
  };
}

const ids = (events: readonly { id: string }[]) => events.map(({ id }) => id);

function tailOf(pageMax = 3) {
  const clock = manualClock({ nowMs: 1_000_000 });
  const list = listOf(clock, pageMax);
  return { clock, list, tail: createTail({ api: list.api, filter: new URLSearchParams(), clock }) };
}

it("begins with the last events, oldest first, and says none of them again", async () => {
  const { clock, list, tail } = tailOf();
  const parked = [list.park(90_000), list.park(80_000), list.park(10)];
  expect(ids(await tail.begin(2))).toEqual(parked.slice(1));
  await clock.advance(1_000);
  expect(await tail.poll()).toEqual([]);
});

it("says every event once, however many pages arrive between two polls", async () => {
  const { clock, list, tail } = tailOf();
  await tail.begin(1);
  const said: string[] = [];
  const parked: string[] = [];
  for (let second = 0; second < 200; second++) {
    for (let n = 0; n < second % 9; n++) parked.push(list.park());
    await clock.advance(1_000);
    said.push(...ids(await tail.poll()));
  }
  expect(said).toEqual(parked);
});

it("says events that appear below others which were said before", async () => {
  const { clock, list, tail } = tailOf();
  await tail.begin(1);
  const said: string[] = [];
  const parked: string[] = [];
  for (let second = 0; second < 200; second++) {
    for (let n = 0; n < 5; n++) parked.push(list.park());
    parked.push(list.park((second * 7_919) % 60_000));
    await clock.advance(1_000);
    said.push(...ids(await tail.poll()));
  }
  // The last ones appear at the next reading of the whole window.
  await clock.advance(15_000);
  said.push(...ids(await tail.poll()));
  expect([...said].sort()).toEqual([...parked].sort());
});

it("says afterwards what was parked while nothing answered", async () => {
  const { clock, list, tail } = tailOf();
  await tail.begin(1);
  const parked = [list.park()];
  await clock.advance(600_000);
  parked.push(list.park());
  expect(ids(await tail.poll())).toEqual(parked);
  await clock.advance(1_000);
  expect(await tail.poll()).toEqual([]);
});

it("says no event again when one answer was slow", async () => {
  const { clock, list, tail } = tailOf(100);
  const said: string[] = [];
  await tail.begin(1);
  for (let second = 0; second < 90; second++) {
    list.park();
    await clock.advance(1_000);
    list.delay(second === 74 ? 20_000 : 0);
    said.push(...ids(await tail.poll()));
  }
  expect(said).toHaveLength(90);
  expect(new Set(said).size).toBe(90);
});

it("asks once a poll while nothing happens", async () => {
  const { clock, list, tail } = tailOf(2);
  for (let n = 0; n < 30; n++) list.park();
  await tail.begin(1);
  const before = list.reads();
  for (let n = 0; n < 10; n++) {
    await clock.advance(1_000);
    await tail.poll();
  }
  expect(list.reads() - before).toBe(10);
});
