import type { ChannelConfig } from "@/lib/observe/channels/channels.shapes";
import type { Channel, Notice } from "@/lib/observe/channels/notices.pure";
import type { Queryable } from "@/lib/platform/database/db";

export type ChannelInForce = Channel & { name: string };

export async function readChannelsInForce(db: Queryable): Promise<ChannelInForce[]> {
  return db.query<ChannelInForce>(
    "select id, name, kind, severities, sources from alert_channels where enabled order by id",
    [],
    { name: "channels-in-force" },
  );
}

export async function readNotices(db: Queryable): Promise<(Notice & { channelId: string })[]> {
  return db.query(
    `select channel_id as "channelId", rule_id as "ruleId", opened_at as "openedAtMs", told_to_evaluation as "toldTo", told_at as "toldAtMs",
            acknowledged from alert_notices`,
    [],
    { name: "alert-notices" },
  );
}

/** The settings that messages are sent by, also of a channel that is off: queued messages are still sent. null = it is gone. */
export async function readChannelConfig(
  db: Queryable,
  id: string,
): Promise<{ name: string; config: ChannelConfig } | null> {
  const [row] = await db.query<{ name: string; config: ChannelConfig }>(
    "select name, config from alert_channels where id = $1",
    [id],
    { name: "channel-config" },
  );
  return row ?? null;
}
