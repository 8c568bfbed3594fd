import { expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const HOUR_MS = 3_600_000;
const COOLDOWN_MS = 900_000;
const world = worldOfEachTest();

test("a worker whose machine is hours off writes the database's time (I10)", async () => {
  world.sink.answer = () => 422;
  for (const wallAheadMs of [-HOUR_MS, HOUR_MS]) {
    const eventId = `off by ${wallAheadMs}`;
    await world.park(1, () => ({ eventId }));
    const worker = await world.worker({ wallAheadMs });
    const { id } = await world.request({ select: { ids: await world.idsOf([eventId]) } });
    expect(await world.ended(id)).toMatchObject({ failed: 1 });
    await worker.stop("the next one is off otherwise");

    const [off] = await world.db.query<{ cooldownMs: number; auditMs: number; idMs: number }>(
      `select extract(epoch from e.cooldown_until - i.finished_at)::float8 * 1000 as "cooldownMs",
            extract(epoch from x.at - i.finished_at)::float8 * 1000 as "auditMs",
            (('x' || left(replace(x.id::text, '-', ''), 12))::bit(48)::bigint
              - extract(epoch from i.finished_at) * 1000)::float8 as "idMs"
       from dlq_events e join redrive_items i on i.id = e.id
       join audit_entries x on x.redrive_id = i.redrive_id and x.action = 'event.failed' where i.redrive_id = $1`,
      [id],
    );
    expect(Math.abs(off!.cooldownMs - COOLDOWN_MS)).toBeLessThan(HOUR_MS / 2);
    expect(Math.abs(off!.auditMs)).toBeLessThan(HOUR_MS / 2);
    expect(Math.abs(off!.idMs)).toBeLessThan(HOUR_MS / 2);
  }
});
