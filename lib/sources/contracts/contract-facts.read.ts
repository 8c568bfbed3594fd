import type { Queryable } from "@/lib/platform/database/db";
import { type ContractFacts, contractFacts } from "@/lib/sources/contracts/contract.pure";
import { type HeartbeatInfo, IS_ALIVE } from "@/lib/sources/targets/target-list.read";

/** Sends are counted over this long, seconds. */
const RATE_WINDOW_S = 60;

/** What the live workers report of each target, by its name: one read of their heartbeats, one of the last minute's sends. */
export async function readContractFacts(db: Queryable): Promise<Map<string, ContractFacts>> {
  const beats = await db.query<{ info: HeartbeatInfo }>(`select info from worker_heartbeats where ${IS_ALIVE}`);
  const sent = await db.query<{ target: string; n: number }>(
    `select target, count(*) as n from redrive_attempts
      where opened_at > now() - interval '${RATE_WINDOW_S} s' group by target`,
  );
  const sentBy = new Map(sent.map(({ target, n }) => [target, n / RATE_WINDOW_S]));
  const names = new Set(beats.flatMap(({ info }) => Object.keys(info.targets ?? {})));
  return new Map(
    [...names].map((name) => {
      const engines = beats.flatMap(({ info }) => info.targets?.[name] ?? []);
      return [name, contractFacts(engines, sentBy.get(name) ?? 0)!];
    }),
  );
}
