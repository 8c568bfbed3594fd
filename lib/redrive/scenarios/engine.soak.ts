import { describe, expect, test } from "vitest";
import { UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

const name = (index: number) => `event-${String(index).padStart(4, "0")}`;

describe("policies in use", () => {
  test("phases are timed by what the transport reports: slow to answer is not slow to connect", async () => {
    await world.policy({
      ...UNGUARDED,
      backoff: { kind: "fixed", delayMs: 20, jitter: { kind: "none" } },
      phases: { connectMs: 2_000, firstByteMs: 12_000 },
      attemptTimeoutMs: 60_000,
      deadlineMs: 300_000,
      maxAttempts: 2,
    });
    await world.park(2);
    world.sink.answer = async ({ eventId, nth }) => {
      if (eventId === name(1) && nth === 1) return "hang";
      await world.deps.clock.sleep(3_000);
      return 200;
    };
    await world.worker();
    expect(await world.ended((await world.request()).id)).toMatchObject({ delivered: 2 });
    const attempts = await world.db.query(
      `select e.event_id, a.attempt, a.state, a.code from sends a join dlq_events e on e.id = a.id
        order by e.event_id, a.attempt`,
    );
    expect(attempts).toEqual([
      { event_id: name(0), attempt: 1, state: "delivered", code: "OK" },
      { event_id: name(1), attempt: 1, state: "ambiguous", code: "TIMEOUT_FIRST_BYTE" },
      { event_id: name(1), attempt: 2, state: "delivered", code: "OK" },
    ]);
  });
});
