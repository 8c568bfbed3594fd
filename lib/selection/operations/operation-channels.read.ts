import type { Queryable } from "@/lib/platform/database/db";

/** SQL: names of the channels that are notified about the operation whose id is `id`. */
export const channelsOf = (id: string): string =>
  `array(select c.name from operation_tells t join alert_channels c on c.id = t.channel_id where t.operation_id = ${id} order by 1)`;

export async function readOperationChannels(db: Queryable, id: string): Promise<string[]> {
  const [row] = await db.query<{ names: string[] }>(`select ${channelsOf("$1::uuid")} as names`, [id]);
  return row!.names;
}
