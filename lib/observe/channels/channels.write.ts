import { RESTORE } from "@/lib/observe/channels/channels.read";
import type { ChannelRequest } from "@/lib/observe/channels/channels.shapes";
import type { Notice } from "@/lib/observe/channels/notices.pure";
import { dropOperationTells } from "@/lib/observe/channels/operation-tells.write";
import type { Tx } from "@/lib/platform/database/db";

export type StoredChannel = Pick<ChannelRequest, "enabled" | "severities" | "sources" | "config">;

export type LockedChannel = { id: string; updatedAtMs: number; stored: StoredChannel };

/** null = there is no such channel. */
export async function lockChannel(tx: Tx, name: string): Promise<LockedChannel | null> {
  const [row] = await tx.query<StoredChannel & Omit<LockedChannel, "stored">>(
    `select id, enabled, severities, sources, config, updated_at as "updatedAtMs" from alert_channels where name = $1 for update`,
    [name],
  );
  if (row === undefined) return null;
  const { id, updatedAtMs, ...stored } = row;
  return { id, updatedAtMs, stored };
}

type Edit = { id: string; actor: string; atMs: number };

/** False = the name is taken. */
export async function insertChannel(tx: Tx, channel: StoredChannel & { name: string }, edit: Edit): Promise<boolean> {
  const inserted = await tx.run(
    `insert into alert_channels (id, name, kind, enabled, severities, sources, config, created_by, created_at, updated_by, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, to_timestamp($9::float8 / 1000), $8, to_timestamp($9::float8 / 1000))
     on conflict (name) do nothing`,
    [
      ...[edit.id, channel.name, channel.config.kind, channel.enabled, channel.severities, channel.sources],
      ...[JSON.stringify(channel.config), edit.actor, edit.atMs],
    ],
  );
  return inserted === 1;
}

export async function updateChannel(tx: Tx, channel: StoredChannel, edit: Edit): Promise<void> {
  await tx.run(
    `update alert_channels set enabled = $2, severities = $3, sources = $4, config = $5::jsonb, updated_by = $6,
            updated_at = to_timestamp($7::float8 / 1000) where id = $1`,
    [
      ...[edit.id, channel.enabled, channel.severities, channel.sources, JSON.stringify(channel.config)],
      ...[edit.actor, edit.atMs],
    ],
  );
}

/** Its messages that wait are never sent. */
export async function deleteChannel(tx: Tx, id: string): Promise<void> {
  await tx.run("delete from alert_channels where id = $1", [id]);
  await tx.run("delete from alert_outbox where destination = $1", [id]);
}

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

/** Disables every channel and forgets its messages: a restored copy must not wake anybody. Returns the names of those that were on. */
export async function silenceChannels(tx: Tx): Promise<string[]> {
  const off = await tx.query<{ name: string }>(
    "update alert_channels set enabled = false, updated_by = $1, updated_at = now() where enabled returning name",
    [RESTORE],
  );
  await tx.run("delete from alert_outbox where status = 'NEW'");
  await tx.run("delete from alert_notices");
  await dropOperationTells(tx);
  return off.map(({ name }) => name).sort();
}
