import type { Notice } from "@/lib/observe/channels/notices.pure";
import type { Tx } from "@/lib/platform/database/db";

/** Stores what a channel knows of rules; a rule without a notice is closed there. */
export async function storeNotices(
  tx: Tx,
  channelId: string,
  { open, closed }: { open: readonly Notice[]; closed: readonly string[] },
): Promise<void> {
  if (closed.length > 0) {
    await tx.run("delete from alert_notices where channel_id = $1 and rule_id = any($2::uuid[])", [channelId, closed]);
  }
  if (open.length === 0) return;
  await tx.run(
    `insert into alert_notices (channel_id, rule_id, opened_at, told_to_evaluation, told_at, acknowledged)
     select $1, n."ruleId", to_timestamp(n."openedAtMs" / 1000), n."toldTo", to_timestamp(n."toldAtMs" / 1000),
            n.acknowledged
       from jsonb_to_recordset($2::jsonb)
         as n ("ruleId" uuid, "openedAtMs" float8, "toldTo" int8, "toldAtMs" float8, acknowledged boolean)
     on conflict (channel_id, rule_id) do update set
       told_to_evaluation = excluded.told_to_evaluation, told_at = excluded.told_at, acknowledged = excluded.acknowledged`,
    [channelId, JSON.stringify(open)],
  );
}
