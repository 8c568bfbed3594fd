import { plainSecretPlaces } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { isWithin } from "@/lib/platform/database/moments.sql";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import {
  type BucketState,
  settingsOf,
  type TargetEngine,
  type TargetList,
  type TargetOut,
} from "@/lib/sources/sources.shapes";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

/** Sends of a worker to a target in the last ten seconds, and in the last minute. */
export type SentNow = { tenSeconds: number; minute: number };

/** The data in a worker's heartbeat: its engine's state by target name, and the state of its rate limits. */
export type HeartbeatInfo = {
  running: number;
  /** `away`: why it is not reached, and for how long; null = it is. Both are absent in reports of older workers. */
  targets: Record<
    string,
    Omit<TargetEngine, "asOf"> & { away?: { detail: string; forMs: number } | null; sent?: SentNow }
  >;
  bucket?: BucketState;
};

/** A worker without a heartbeat for this long counts as stopped. */
export const HEARTBEAT_LOST_S = 15;

/** SQL over worker_heartbeats: the worker is alive. */
export const IS_ALIVE = isWithin("seen_at", `interval '${HEARTBEAT_LOST_S} s'`);

/** All targets with the reports of the live workers. `addressOf` returns the address of a target, without secrets. */
export async function listTargets(
  db: Queryable,
  viewer: Viewer,
  addressOf: (target: TargetRow) => string | null,
): Promise<TargetList> {
  const scope = sourceScope(viewer);
  const targets = (await readTargets(db)).filter(({ source }) => scope === null || scope.includes(source));
  const beats = await db.query<{ info: HeartbeatInfo; seenAtMs: number }>(
    `select info, seen_at as "seenAtMs" from worker_heartbeats
      where ${IS_ALIVE}`,
  );
  const items = targets.map((target): TargetOut => {
    const reports = beats.flatMap(({ info, seenAtMs }) => {
      const report = info.targets?.[target.name];
      return report ? [{ ...report, seenAtMs, asOf: iso(seenAtMs) }] : [];
    });
    const [longest] = reports
      .flatMap(({ away, seenAtMs }) => (away ? [{ detail: away.detail, sinceMs: seenAtMs - away.forMs }] : []))
      .sort((a, b) => a.sinceMs - b.sinceMs);
    const sent = reports.reduce((sum, { sent }) => sum + (sent?.tenSeconds ?? 0), 0);
    return {
      ...targetOut(target, addressOf(target)),
      engine: reports.map(({ away: _away, sent: _sent, seenAtMs: _seenAtMs, ...state }) => state),
      unreachable: longest ? { since: iso(longest.sinceMs), detail: longest.detail } : null,
      sentPerSecondNow: beats.length > 0 ? sent / 10 : null,
    };
  });
  return { items, nextCursor: null };
}

function targetOut(
  target: TargetRow,
  address: string | null,
): Omit<TargetOut, "engine" | "unreachable" | "sentPerSecondNow"> {
  return {
    id: target.id,
    name: target.name,
    source: target.source,
    kind: target.kind,
    lane: target.lane,
    destination: target.destination && redactConfig(target.kind, target.destination),
    plainSecrets: plainSecretPlaces(target.kind, target.destination ?? {}, "destination"),
    address,
    ...settingsOf({ ...target, contract: target.contract ?? null }),
  };
}
