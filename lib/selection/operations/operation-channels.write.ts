import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { isOver, ms } from "@/lib/platform/database/moments.sql";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Replaces the channels of an operation; those already notified about its end stay. Throws DomainError `channel-not-found` with the field. */
export async function setOperationChannels(
  tx: Tx,
  operationId: string,
  names: readonly string[],
  { viewer, atMs }: { viewer: Viewer; atMs: number },
): Promise<void> {
  const ids = await channelIds(tx, names, viewer);
  await tx.run(
    "delete from operation_tells where operation_id = $1 and ended_told_at is null and channel_id <> all($2::uuid[])",
    [operationId, ids],
  );
  await tx.run(
    `insert into operation_tells (operation_id, channel_id, asked_by, asked_at)
     select $1, id, $3, to_timestamp($4::float8 / 1000) from unnest($2::uuid[]) id on conflict do nothing`,
    [operationId, ids, viewer.name, atMs],
  );
}

/** Whether two lists name the same channels, in any order. */
export function sameNames(left: readonly string[], right: readonly string[]): boolean {
  const names = new Set(left);
  return names.size === new Set(right).size && right.every((name) => names.has(name));
}

/** Throws DomainError `channel-not-found` for a name that the viewer sees no channel of. */
export async function channelIds(tx: Queryable, names: readonly string[], viewer: Viewer): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await tx.query<{ id: string; name: string }>(
    "select id, name from alert_channels where name = any($1::text[]) and ($2::text[] is null or sources <@ $2) order by id",
    [names, sourceScope(viewer)],
  );
  const known = new Set(rows.map(({ name }) => name));
  const at = names.findIndex((name) => !known.has(name));
  if (at === -1) return rows.map(({ id }) => id);
  throw new DomainError("channel-not-found", `There is no channel ${JSON.stringify(names[at])}`, {
    fields: [{ field: `tell.${at}`, detail: "list channels with GET /api/v1/channels" }],
  });
}

/** SQL: of a channel that is on. One that is off gets nothing new, and the end once it is on again. */
const IS_ON = "exists (select 1 from alert_channels c where c.id = channel_id and c.enabled)";

/** Compare-and-set: the channels that have not been notified about the end of this operation, and are in this transaction. */
export async function noteEnd(tx: Tx, operationId: string): Promise<string[]> {
  return idsOf(
    await tx.query<Told>(
      `update operation_tells set ended_told_at = now() where operation_id = $1 and ended_told_at is null and ${IS_ON}
       returning channel_id as id`,
      [operationId],
    ),
  );
}

/** It stands still since now, or since before; or it moves. */
export async function noteStill(tx: Tx, operationId: string, still: boolean): Promise<void> {
  await tx.run(
    still
      ? "update operation_tells set still_since = now() where operation_id = $1 and still_since is null and ended_told_at is null"
      : "update operation_tells set still_since = null, still_told_at = null where operation_id = $1 and still_since is not null",
    [operationId],
  );
}

/** Compare-and-set: the channels that have not been notified about this stall, which has lasted for `afterMs`. */
export async function noteStillTold(tx: Tx, operationId: string, afterMs: number): Promise<string[]> {
  return idsOf(
    await tx.query<Told>(
      `update operation_tells set still_told_at = now()
        where operation_id = $1 and still_told_at is null and ended_told_at is null and ${IS_ON}
          and ${isOver("still_since", ms("$2"))}
       returning channel_id as id`,
      [operationId, afterMs],
    ),
  );
}

type Told = { id: string };
const idsOf = (rows: readonly Told[]) => rows.map(({ id }) => id);

/** Of a restored copy of a store: nobody is notified about what its original did. */
export async function dropOperationChannels(tx: Tx): Promise<void> {
  await tx.run("delete from operation_tells");
}
