import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Policy } from "@/lib/retry/policy";
import { UNGUARDED, worldOfEachTest } from "@/lib/testing/redrive-world";
import { startTcpProxy, type TcpProxy } from "@/lib/testing/tcp-proxy";

/**
 * The engine's contract on a real wire that fails: the proxy between worker and sink cuts, stalls and half-opens
 * connections, so that answers are lost after the effect.
 */
describe("with connections that are cut", () => {
  let proxy: TcpProxy;
  const world = worldOfEachTest({ afterwards: () => proxy.stop() });

  beforeEach(async () => {
    proxy = await startTcpProxy(Number(new URL(world.sink.url).port));
    const config = JSON.stringify({ redriveUrl: `http://127.0.0.1:${proxy.port}/events` });
    await world.db.run("update sources set config = $1::jsonb, updated_at = now()", [config]);
  });
  afterEach(() => proxy.resume());

  const policy = (change: Partial<Policy> = {}) =>
    world.policy({
      ...UNGUARDED,
      // Each fault breaks all sends under way: on a busy machine one event lost eight in a row.
      maxAttempts: 40,
      attemptTimeoutMs: 700,
      deadlineMs: 60_000,
      backoff: { kind: "exponential", baseMs: 40, factor: 2, capMs: 600, jitter: { kind: "full" } },
      ...change,
    });

  test("no effect is lost, none is doubled, the key never changes, and the order holds", async () => {
    await policy();
    await world.park(120, (index) => ({ aggregateId: `order-${index % 20}`, version: BigInt(index) }));
    const seen: string[] = [];
    const applied = new Set<string>();
    // Every seventh arrival loses its answer, after the effect; each fault in its turn.
    const faults = [() => proxy.cut(), () => proxy.stall("toClient"), () => proxy.cut(), () => proxy.halfOpen()];
    let arrivals = 0;
    world.sink.answer = ({ eventId }) => {
      if (!applied.has(eventId)) seen.push(eventId);
      applied.add(eventId);
      if (++arrivals % 7 === 0 && arrivals < 150) {
        const fault = faults[(arrivals / 7) % faults.length]!;
        fault();
        // A stalled answer is delivered when its sender has given up on it.
        world.deps.clock.timer(900, () => proxy.resume());
      }
      return 200;
    };
    await world.worker();
    const { id } = await world.request();
    const done = await world.ended(id);

    expect(done).toMatchObject({ delivered: 120, failed: 0, open: 0 });
    // Something did get lost, or this test shows nothing.
    expect(world.sink.arrived.length).toBeGreaterThan(125);
    expect(world.sink.effects()).toHaveLength(120);
    for (const entry of world.sink.arrived) expect(entry.key).toBe(`orders:${entry.eventId}`);
    for (let aggregate = 0; aggregate < 20; aggregate++) {
      const order = seen.map((eventId) => Number(eventId.slice(6))).filter((index) => index % 20 === aggregate);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
    // What the sink got is never called surely not sent.
    const unsent = await world.db.query<{ eventId: string; attempt: number }>(
      `select e.event_id as "eventId", a.attempt from sends a join dlq_events e on e.id = a.id
        where a.state = 'failed'`,
    );
    for (const { eventId, attempt } of unsent) {
      const numbers = world.sink.of(eventId).map((entry) => Number(entry.headers["x-redrive-attempt"]));
      expect(numbers).not.toContain(attempt);
    }
    const ambiguous = await world.db.query("select id from sends where state = 'ambiguous'");
    expect(ambiguous.length).toBeGreaterThan(3);
  });
});
