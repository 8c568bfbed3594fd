import { expect, test } from "vitest";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const HOUR_MS = 3_600_000;
const COOLDOWN_MS = 900_000;
const world = worldOfEachTest();

test.each([-HOUR_MS, HOUR_MS])(
  "a worker whose machine is %i ms off writes the database's time (I10)",
  async (wallAheadMs) => {
    await world.park(1);
    world.sink.answer = () => 422;
    await world.worker({ wallAheadMs });
    const { id } = await world.request();
    expect(await world.ended(id)).toMatchObject({ failed: 1 });

    const [off] = await world.db.query<{ cooldownMs: number; auditMs: number; idMs: number }>(
      `select extract(epoch from e.cooldown_until - i.finished_at)::float8 * 1000 as "cooldownMs",
            extract(epoch from x.at - i.finished_at)::float8 * 1000 as "auditMs",
            (('x' || left(replace(x.id::text, '-', ''), 12))::bit(48)::bigint
              - extract(epoch from i.finished_at) * 1000)::float8 as "idMs"
       from dlq_events e join redrive_items i on i.id = e.id
       join audit_entries x on x.redrive_id = i.redrive_id and x.action = 'event.failed'`,
    );
    expect(Math.abs(off!.cooldownMs - COOLDOWN_MS)).toBeLessThan(HOUR_MS / 2);
    expect(Math.abs(off!.auditMs)).toBeLessThan(HOUR_MS / 2);
    expect(Math.abs(off!.idMs)).toBeLessThan(HOUR_MS / 2);
  },
);
