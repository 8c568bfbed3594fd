import { auditEvents } from "@/lib/guard/audit/audit.write";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Deps } from "@/lib/lane/deps";
import { endAggregateFailures } from "@/lib/order/aggregate-failures.write";
import { raiseConfirmed } from "@/lib/order/confirmed-versions.write";
import { inTransaction } from "@/lib/platform/database/retrying";
import { announceConfirmed } from "@/lib/redrive/confirm/announce-confirmed";
import { confirmQuiet, countConfirmed } from "@/lib/redrive/confirm/confirm-quiet.write";

const CHUNK = 1_000;

/**
 * Confirms REDRIVEN events that did not come back within the quiet window. Success rates count confirmed events, not
 * sends. Works in chunks; returns the number of confirmed events.
 */
export async function confirmQuietEvents(deps: Pick<Deps, "db" | "clock">): Promise<number> {
  const { quietWindowMs } = await readSettings(deps.db);
  for (let confirmed = 0; ; ) {
    const count = await confirmChunk(deps, quietWindowMs);
    if (count === null) return confirmed;
    confirmed += count;
  }
}

/** null = no quiet window has ended. */
async function confirmChunk(deps: Pick<Deps, "db" | "clock">, quietWindowMs: number): Promise<number | null> {
  return inTransaction(deps.db, async (tx) => {
    const events = await confirmQuiet(tx, quietWindowMs, CHUNK);
    if (events === null) return null;
    if (events.length === 0) return 0;
    await countConfirmed(
      tx,
      events.flatMap(({ redriveId }) => (redriveId === null ? [] : [redriveId])),
    );
    const ids = events.map(({ id }) => id);
    await raiseConfirmed(tx, ids);
    await endAggregateFailures(tx, ids, false);
    const nowMs = deps.clock.wallMs();
    await announceConfirmed(tx, ids, { by: "quiet window", nowMs });
    await auditEvents(tx, ids, {
      actor: "worker",
      action: "event.confirmed",
      reason: `no bounce within ${Math.round(quietWindowMs / 1000)} s`,
      before: { status: "REDRIVEN", confirmed: false },
      after: { status: "REDRIVEN", confirmed: true },
      atMs: nowMs,
    });
    return events.length;
  });
}
