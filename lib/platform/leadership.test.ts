import { expect, test } from "vitest";
import { createLeadership } from "@/lib/platform/leadership";
import { createLog } from "@/lib/platform/log";
import { startRegularWork } from "@/lib/platform/regular-work";
import { manualClock } from "@/lib/testing/manual-clock";

const log = createLog({ level: "silent", process: "test" });

/** A round each second of a worker that is given up 6 s after its last heartbeat; how often it ran is counted. */
function start() {
  const clock = manualClock();
  const leadership = createLeadership({ clock, log, lostMs: 6_000 });
  const ran = { sound: 0, failing: 0, hanging: 0 };
  const running = startRegularWork(
    [
      {
        name: "failing",
        everyMs: 1_000,
        work: async () => {
          ran.failing++;
          throw new Error("refused");
        },
      },
      {
        name: "hanging",
        everyMs: 1_000,
        work: (signal) => {
          ran.hanging++;
          return new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
      },
      { name: "sound", everyMs: 1_000, work: async () => ran.sound++ },
    ],
    { clock, log, leadership },
  );
  return { clock, leadership, ran, running };
}

test("a worker runs the rounds from the heartbeat that finds no older one until the one that does", async () => {
  const { clock, leadership, ran, running } = start();
  await clock.advance(3_000);
  leadership.seen({ oldest: false, sentMs: clock.nowMs() });
  await clock.advance(1_000);
  expect(ran.sound).toBe(0);
  leadership.seen({ oldest: true, sentMs: clock.nowMs() });
  await clock.advance(2_500);
  expect(ran.sound).toBe(3);
  leadership.seen({ oldest: false, sentMs: clock.nowMs() });
  await clock.advance(5_000);
  expect(ran.sound).toBe(3);
  await running.stop();
  expect(clock.pending()).toBe(0);
});

test("a worker whose heartbeats fail leads no more once others may give it up, from before the last one was sent", async () => {
  const { clock, leadership, ran, running } = start();
  const sentMs = clock.nowMs();
  await clock.advance(2_000);
  // The answer was slow.
  leadership.seen({ oldest: true, sentMs });
  await clock.advance(60_000);
  expect(ran.sound).toBe(4);
  leadership.seen({ oldest: true, sentMs: clock.nowMs() });
  await clock.advance(0);
  expect(ran.sound).toBe(5);
  await running.stop();
});

test("a round that fails is tried again, and one that hangs keeps no other back", async () => {
  const { clock, leadership, ran, running } = start();
  leadership.seen({ oldest: true, sentMs: clock.nowMs() });
  await clock.advance(4_500);
  expect(ran).toEqual({ sound: 5, failing: 5, hanging: 1 });
  await running.stop();
});

test("a worker that never led stops", async () => {
  const { running, ran } = start();
  await running.stop();
  expect(ran.sound).toBe(0);
});
