import { type GroupMute, muteEnded } from "@/lib/events/groups/mutes/group-mute.pure";
import type { OpenMute } from "@/lib/events/groups/mutes/group-mutes.read";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { Tx } from "@/lib/platform/database/db";

/** The mutes in force, and those that a time or a number has ended. */
export function splitMutes(open: readonly OpenMute[]) {
  const inForce: GroupMute[] = [];
  const ended: { mute: OpenMute; because: "time" | "count" }[] = [];
  for (const mute of open) {
    const because = muteEnded(mute, mute);
    if (because === null) inForce.push(mute);
    else ended.push({ mute, because });
  }
  return { inForce, ended };
}

/** Writes down that mutes have ended by themselves. One that a person has ended meanwhile stays as it is. */
export async function endMutes(
  tx: Tx,
  ended: readonly { mute: OpenMute; because: "time" | "count" }[],
  atMs: number,
): Promise<void> {
  for (const { mute, because } of ended) {
    const [row] = await tx.query<{ id: string }>(
      "update group_mutes set ended_at = now(), ended_because = $2 where id = $1 and ended_at is null returning id",
      [mute.id, because],
    );
    if (!row) continue;
    const { fingerprint, source, untilMore } = mute;
    await appendAudit(tx, {
      ...{ actor: "worker", action: "group.mute-ended", subjectId: fingerprint },
      ...{ before: { source, more: untilMore }, after: { because }, atMs },
    });
  }
}

const ENDED_KEPT = "90 days";

export async function removeOldMutes(db: Pick<Tx, "run">): Promise<void> {
  await db.run(`delete from group_mutes where ended_at < now() - interval '${ENDED_KEPT}'`);
}
