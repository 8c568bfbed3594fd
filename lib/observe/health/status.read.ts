import type { ConsumerWord } from "@/lib/brokers/source-mode.pure";
import { countApprovals } from "@/lib/guard/approvals/approvals.read";
import { listStops } from "@/lib/guard/stops/stops.read";
import { RESTORE } from "@/lib/guard/viewer/actor.pure";
import { ofSources, seesOperation, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { roomSentence } from "@/lib/intake/room/room.pure";
import { readIntakeStops } from "@/lib/intake/room/room.read";
import { readArchiveFault } from "@/lib/keep/removal/archive-fault.read";
import { countAlerts, readAlertFault } from "@/lib/observe/alerts/alerts.read";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { CONSUMER_IS_LIVE } from "@/lib/sources/source-consumers.read";
import type { BucketState } from "@/lib/sources/sources.shapes";
import { IS_ALIVE } from "@/lib/sources/targets/target-list.read";
import { WAITS, type Wait } from "@/lib/states/redrive-wait.pure";
import { BULK, LIVE_REDRIVES, REDRIVE, waitsFor } from "@/lib/states/state.sql";

/** The rate shown is taken over this long, seconds. */
const RATE_WINDOW_S = 30;
/** An entry may be committed behind later ones, whose ids are higher. */
const LATEST_ENTRIES = 50;
/** Maximum names of open breakers and of failing sources. */
const TROUBLES_MAX = 20;

type StatusRow = {
  mainNow: number;
  slowNow: number;
  mainSet: number | null;
  slowSet: number | null;
  mainTargets: number;
  slowTargets: number;
  running: number;
  waits: Record<Wait["for"], number>;
  operations: number;
  alive: number;
  lastSeenMs: number | null;
  buckets: (BucketState | null)[] | null;
  openBreakers: string[] | null;
  failingSources: string[] | null;
  channelsOff: number;
  changes: string;
};

export type StoredStatus = Pick<
  StatusOut,
  | "lanes"
  | "redrivesRunning"
  | "redrivesWaiting"
  | "approvalsWaiting"
  | "approvalsForViewer"
  | "operationsRunning"
  | "worker"
  | "trouble"
  | "bucket"
  | "stops"
  | "alerts"
  | "intakeStops"
  | "changes"
>;

/**
 * The current throughput and the live workers. Dry runs send nothing, so no rate counts them. The set rate of a lane is
 * the sum of the rates of its targets and of those that a redrive names which runs on it; null when one of them is
 * unlimited.
 */
export async function readStatus(db: Queryable, viewer: Viewer): Promise<StoredStatus> {
  const [archive, stops, intakeStops, approvals, alerts] = await Promise.all([
    readArchiveFault(db),
    listStops(db, viewer),
    readIntakeStops(db),
    countApprovals(db, viewer),
    countAlerts(db, viewer),
  ]);
  const [row] = await db.query<StatusRow>(
    `with sent as (
       select r.lane, sum(t.delivered + t.failed)::float8 / ${RATE_WINDOW_S} as rate
         from redrives r join redrive_ticks t on t.redrive_id = r.id
        where (r.state in ${LIVE_REDRIVES} or r.finished_at > now() - interval '${RATE_WINDOW_S} s')
          and t.at > now() - interval '${RATE_WINDOW_S} s' and r.mode = 'deliver' and ${seesRedrive("r", "$1")}
        group by r.lane),
     set_rate as (
       select lane, case when bool_and(rate_per_second is not null) then sum(rate_per_second) end as rate, count(*) as targets from (
         select lane, id, rate_per_second from targets where lane is not null and ${ofSources("source_id", "$1")}
         union
         select r.lane, t.id, t.rate_per_second from redrives r join targets t on t.id = r.target_id
          where r.state = ${REDRIVE.RUNNING} and r.mode = 'deliver' and ${seesRedrive("r", "$1")}) of_lane group by lane)
     select coalesce((select rate from sent where lane = 'main'), 0) as "mainNow",
            coalesce((select rate from sent where lane = 'slow'), 0) as "slowNow",
            (select rate from set_rate where lane = 'main') as "mainSet",
            (select rate from set_rate where lane = 'slow') as "slowSet",
            coalesce((select targets from set_rate where lane = 'main'), 0) as "mainTargets",
            coalesce((select targets from set_rate where lane = 'slow'), 0) as "slowTargets",
            (select count(*) from redrives r where state in ${LIVE_REDRIVES} and state <> ${REDRIVE.PAUSED}
                and not (state = ${REDRIVE.PLANNED} and (awaits_approval or start_at > now() or breaker_until > now()))
                and ${seesRedrive("r", "$1")}) as running,
            (select jsonb_build_object(${WAITS.map((wait) => `'${wait}', count(*) filter (where ${waitsFor([wait])})`).join(", ")})
               from redrives r where r.state in ${LIVE_REDRIVES} and ${seesRedrive("r", "$1")}) as waits,
            (select count(*) from bulk_operations o where o.state = ${BULK.RUNNING} and ${seesOperation("$1")}) as operations,
            (select count(*) from worker_heartbeats where ${IS_ALIVE}) as alive,
            (select max(seen_at) from worker_heartbeats) as "lastSeenMs",
            (select array_agg(name order by name) from (
               select t.name from targets t where t.breaker_force = $2 and ${ofSources("t.source_id", "$1")}
               union
               select e.key from worker_heartbeats w cross join lateral jsonb_each(w.info->'targets') e
                where ${IS_ALIVE} and e.value->'breaker'->>'state' = $2
                  and e.key in (select t.name from targets t where ${ofSources("t.source_id", "$1")})
               order by 1 limit ${TROUBLES_MAX}) broken) as "openBreakers",
            (select array_agg(name order by name) from (
               select s.name from sources s
                where exists (select 1 from source_consumers c where c.source_id = s.id and c.state = $3
                                 and ${CONSUMER_IS_LIVE}) and ${ofSources("s.id", "$1")}
                order by s.name limit ${TROUBLES_MAX}) failing) as "failingSources",
            (select array_agg(info->>'bucket') from worker_heartbeats
              where ${IS_ALIVE}) as buckets,
            (select count(*) from alert_channels where not enabled and updated_by = $4) as "channelsOff",
            (select left(md5(coalesce(string_agg(said, ','), '')), 8) from (
               (select id::text as said from audit_entries order by id desc limit ${LATEST_ENTRIES})
               union all
               (select id::text || state from alerts where state in ('pending', 'firing') order by id)) latest) as changes`,
    [sourceScope(viewer), "open" satisfies "open" | "closed", "failing" satisfies ConsumerWord, RESTORE],
    { name: "status" },
  );
  // After the others: every open page polls the strip, which must not use another connection.
  const alertFault = await readAlertFault(db);
  const status = row!;
  return {
    lanes: [
      { lane: "main", ratePerSecondNow: status.mainNow, ratePerSecondSet: status.mainSet, targets: status.mainTargets },
      { lane: "slow", ratePerSecondNow: status.slowNow, ratePerSecondSet: status.slowSet, targets: status.slowTargets },
    ],
    redrivesRunning: status.running,
    redrivesWaiting: status.waits,
    ...approvals,
    operationsRunning: status.operations,
    worker: { alive: status.alive, lastSeenAt: isoOrNull(status.lastSeenMs) },
    trouble: {
      openBreakers: status.openBreakers ?? [],
      failingSources: status.failingSources ?? [],
      archive,
      alerts: alertFault,
      channelsOff: status.channelsOff,
    },
    changes: status.changes,
    bucket: WORST_FIRST.find((state) => status.buckets?.includes(state)) ?? null,
    stops,
    alerts,
    intakeStops: intakeStops.map((stop) => ({
      measure: stop.measure,
      since: iso(stop.sinceMs),
      detail: roomSentence(stop),
    })),
  };
}

const WORST_FIRST: readonly BucketState[] = ["unreachable", "local", "shared"];
