import type { Tx } from "@/lib/platform/database/db";
import { WRAPPED, type WrappedKey } from "@/lib/platform/sealing/sealing";

/** How far the worker is. `encrypts`: what it works towards. */
export type Progress = {
  encrypts: boolean;
  cursor: string | null;
  changed: number;
  unreadable: number;
  ended: boolean;
  /** The first pass ended long enough ago: processes with the earlier configuration have ended. */
  looksAgain: boolean;
};

/** What processes with the earlier configuration stored meanwhile is looked for once more after this long. */
const LOOK_AGAIN = "1 hour";
/** One worker at a time. The number is arbitrary. */
const ENCRYPTER_LOCK = 7_305_157;

/** False = another worker is at it. Until the transaction ends. */
export async function lockEncryption(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ got: boolean }>("select pg_try_advisory_xact_lock($1) as got", [ENCRYPTER_LOCK]);
  return row!.got;
}

/** null = keys were never configured. */
export async function readProgress(tx: Tx): Promise<Progress | null> {
  const [row] = await tx.query<Progress>(
    `select encrypts, cursor, changed, unreadable, ended_at is not null as ended,
            coalesce(passes = 1 and ended_at < now() - interval '${LOOK_AGAIN}', false) as "looksAgain"
       from encryption_progress`,
  );
  return row ?? null;
}

export async function beginProgress(tx: Tx, encrypts: boolean): Promise<void> {
  await tx.run(
    `insert into encryption_progress (id, encrypts) values (1, $1)
     on conflict (id) do update set encrypts = $1, cursor = null, changed = 0, unreadable = 0, ended_at = null, passes = 0,
       waits_until = null`,
    [encrypts],
  );
}

export async function advanceProgress(
  tx: Tx,
  { cursor, changed, unreadable }: Pick<Progress, "changed" | "unreadable"> & { cursor: string },
): Promise<void> {
  await tx.run("update encryption_progress set cursor = $1, changed = changed + $2, unreadable = unreadable + $3", [
    cursor,
    changed,
    unreadable,
  ]);
}

/** Goes on with what comes in, or begins the second pass. */
export async function endPass(tx: Tx, { again }: { again: boolean }): Promise<void> {
  await tx.run(
    again
      ? "update encryption_progress set passes = 2, cursor = null"
      : "update encryption_progress set passes = 1, ended_at = now(), waits_until = null",
  );
}

/** The first pass goes on at this time, epoch milliseconds. */
export async function waitForYoung(tx: Tx, untilMs: number): Promise<void> {
  await tx.run("update encryption_progress set waits_until = to_timestamp($1::float8 / 1000)", [untilMs]);
}

/** A page of data keys that another master key wraps. */
export function otherKeys(
  tx: Tx,
  { masterKey, after, limit }: { masterKey: string; after: string | null; limit: number },
): Promise<WrappedKey[]> {
  return tx.query(
    `select ${WRAPPED} from data_keys where master_key <> $1 and ($2::uuid is null or id > $2) order by id limit $3`,
    [masterKey, after, limit],
  );
}

/** Stores data keys as another master key wraps them, unless somebody has done so. Returns from which ones, one for each. */
export async function storeRewrapped(
  tx: Tx,
  masterKey: string,
  keys: readonly { id: string; was: string; wrapped: Buffer }[],
): Promise<string[]> {
  const rows = await tx.query<{ was: string }>(
    `update data_keys k set master_key = $1, wrapped = w.wrapped
       from unnest($2::uuid[], $3::text[], $4::bytea[]) as w (id, was, wrapped)
      where k.id = w.id and k.master_key = w.was returning w.was`,
    [masterKey, keys.map(({ id }) => id), keys.map(({ was }) => was), keys.map(({ wrapped }) => wrapped)],
  );
  return rows.map(({ was }) => was);
}
