import { RESTORE } from "@/lib/guard/viewer/actor.pure";
import type { Tx } from "@/lib/platform/database/db";
import { dropOperationChannels } from "@/lib/selection/operations/operation-channels.write";

/** Disables every channel and forgets its messages: a restored copy must not wake anybody. Returns the names of those that were on. */
export async function silenceChannels(tx: Tx): Promise<string[]> {
  const off = await tx.query<{ name: string }>(
    "update alert_channels set enabled = false, updated_by = $1, updated_at = now() where enabled returning name",
    [RESTORE],
  );
  await tx.run("delete from alert_outbox where status = 'NEW'");
  await tx.run("delete from alert_notices");
  await dropOperationChannels(tx);
  return off.map(({ name }) => name).sort();
}
