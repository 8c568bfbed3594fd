import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { ignoreEvents, releaseEvents } from "@/lib/events/bulk/ignore-events";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { parkEvents } from "@/lib/intake/park-events";
import { foldRollups } from "@/lib/observe/rollups/fold-rollups.write";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { eventAfter } from "@/lib/redrive/run/event-after.pure";
import { finishItems } from "@/lib/redrive/run/finish";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { seedOfToday } from "@/lib/redrive/scenarios/testing/model-runs";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import { deadLetter, deliveredEarlier } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { loseSlices, takeItems } from "@/lib/testing/slice-items";

const world = worldOfEachTest({ invariants: false });

beforeEach(async () => {
  await world.source("billing");
});

const SOURCES = ["orders", "billing"] as const;
const ENDS: Record<string, ItemOutcome> = {
  deliver: { kind: "delivered", code: "HTTP 202" },
  reject: { kind: "failed", code: "HTTP_422", detail: "unknown article" },
  refuse: { kind: "refused", refusal: "blacklisted", detail: "stopped" },
  already: { kind: "already-processed", detail: "billing has it" },
  pass: { kind: "verified" },
  giveBack: { kind: "back" },
};

/** One event of the history, as the test knows it: the redrives that took it, and the claim that a worker would hold. */
type Player = {
  source: string;
  eventId: string;
  redrives: string[];
  held: { redriveId: string; item: SliceItem } | null;
};

const step = fc.record({
  act: fc.constantFrom(
    ...["start", "start", "start", "verify", "deliver", "deliver", "deliver", "reject", "refuse", "already", "pass"],
    ...["giveBack", "bounce", "bounce", "bounce", "bounceTwice", "unmarked", "ignore", "release", "confirm", "quiet"],
    ...["cancel", "takeOver", "overtake", "overtake", "fold"],
  ),
  player: fc.nat({ max: 1 }),
  code: fc.constantFrom("TIMEOUT", "UPSTREAM_5XX"),
  /** Which redrive a bounce is marked with, or a cancel names: 0 = the last one. */
  back: fc.constantFrom(0, 0, 0, 1, 2),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

test("the flow adds up to what is parked, by source, error code and group, after any history (I15)", async () => {
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { minLength: 15, maxLength: 40 }),
      async (redriveLimit, steps) => {
        const settings = { cooldownMs: 0, redriveLimit, aggregateFailureLimit: 100 };
        await changeSettings(world.deps, { settings, reason: "a test" }, localViewer("ada"));
        await play(`history-${histories++}`, steps);
        expect(await world.broken()).toEqual([]);
      },
    ),
    { numRuns: 20, seed: seedOfToday(), endOnFailure: true },
  );
}, 180_000);

test("also when each two steps run at the same time, on the same event", async () => {
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, step), { minLength: 10, maxLength: 30 }), async (pairs) => {
      const settings = { cooldownMs: 0, redriveLimit: 2, aggregateFailureLimit: 100 };
      await changeSettings(world.deps, { settings, reason: "a test" }, localViewer("ada"));
      const [player] = await arrivals(`pairs-${histories++}`);
      for (const pair of pairs)
        await Promise.all(pair.map(({ act, code, back }) => perform(player!, act, { code, back })));
      expect(await world.broken()).toEqual([]);
    }),
    { numRuns: 10, seed: seedOfToday(), endOnFailure: true },
  );
}, 180_000);

/** Plays a history on an event of each source, of one name. A step that its event's state does not allow changes nothing. */
async function play(eventId: string, steps: readonly Step[]): Promise<void> {
  const players = await arrivals(eventId);
  for (const { act, player, code, back } of steps) await perform(players[player]!, act, { code, back });
}

async function arrivals(eventId: string): Promise<Player[]> {
  const players = SOURCES.map((source): Player => ({ source, eventId, redrives: [], held: null }));
  for (const player of players) await arrive(player, null, "UPSTREAM_5XX");
  return players;
}

async function perform(player: Player, act: string, { code, back }: { code: string; back: number }): Promise<void> {
  const { source, eventId } = player;
  const [row] = await world.db.query<{ id: string }>(
    "select e.id from dlq_events e join sources s on s.id = e.source_id where s.name = $1 and e.event_id = $2",
    [source, eventId],
  );
  const select = { ids: [row!.id] };
  const last = player.redrives.at(-1 - back);
  const { held } = player;
  switch (act) {
    case "start":
    case "verify": {
      const { id } = await world.request({ select, brake: null, mode: act === "start" ? "deliver" : "verify" });
      player.redrives.push(id);
      return claim(player, id);
    }
    case "takeOver":
      if (!held) return;
      await loseSlices(world.db);
      return claim(player, held.redriveId);
    case "bounce":
      return last === undefined ? undefined : arrive(player, last, code);
    case "bounceTwice":
      return last === undefined ? undefined : arrive(player, last, code, 2);
    case "overtake":
      if (held) await arrive(player, held.redriveId, code);
      return end(player, ENDS.deliver!);
    case "unmarked":
      return arrive(player, null, code);
    case "ignore":
      await ignoreEvents(world.deps, { select, reason: "not wanted" }, localViewer("ada"));
      return;
    case "release":
      await releaseEvents(world.deps, { select, reason: "wanted" }, localViewer("ada"));
      return;
    case "confirm":
      await confirmEvents(world.deps, { source, eventIds: [eventId] }, localViewer("consumer"));
      return;
    case "quiet":
      await deliveredEarlier(world.db, "1 hour");
      await confirmQuietEvents(world.deps);
      return;
    case "cancel":
      if (last === undefined) return;
      // A redrive that has ended cannot be cancelled.
      await changeRedrive(world.deps, { id: last, change: { action: "cancel" } }, localViewer("ada")).catch(() => null);
      return;
    case "fold":
      await foldRollups(world.db);
      return;
    default:
      return end(player, ENDS[act]!);
  }
}

/** The held claim is kept when there is nothing to claim: its worker ends late then. */
async function claim(player: Player, redriveId: string): Promise<void> {
  const [item] = await takeItems(world.db, { redriveId, slices: [0, 0], limit: 1 });
  if (item) player.held = { redriveId, item };
}

async function end(player: Player, outcome: ItemOutcome): Promise<void> {
  if (!player.held) return;
  const { redriveId, item } = player.held;
  player.held = null;
  const after = eventAfter(outcome, item, await readSettings(world.db), Date.now());
  await finishItems(world.deps, redriveId, [
    { item, outcome, after, attempts: item.attempts + 1, findings: [], closes: [] },
  ]);
}

/** @param copies how often the same letter is in the batch */
async function arrive(
  { source, eventId }: Player,
  redriveId: string | null,
  errorCode: string,
  copies = 1,
): Promise<void> {
  const redrive = redriveId === null ? null : { redriveId, attempt: 1 };
  const letter = deadLetter({ eventId, aggregateId: null, version: null, errorCode, redrive });
  await parkEvents(world.deps, Array(copies).fill({ source, letter }), localViewer("tester"));
}
