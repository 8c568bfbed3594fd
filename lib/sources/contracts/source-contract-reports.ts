import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type CallPath, callPaths, type Stage } from "@/lib/sources/contracts/call-paths.pure";
import type { ContractFacts } from "@/lib/sources/contracts/contract.pure";
import { readContractFacts } from "@/lib/sources/contracts/contract-facts.read";
import { policyOf } from "@/lib/sources/contracts/contract-reports";
import type { SourceContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import { type SourceContract, sourceContractReport } from "@/lib/sources/contracts/source-contract.pure";
import { readPolicies } from "@/lib/sources/policies/policies.read";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";
import { PARKED_STATUSES } from "@/lib/states/event-state.pure";

/** A source with its contract and the age and number of what it has parked. */
type SourceContractRow = {
  name: string;
  contract: SourceContract | null;
  knownDays: number | null;
  parked: number;
  /** The end of the hour of its oldest parked event. null = nothing is parked. */
  oldestHourMs: number | null;
  /** Arrivals of the last hour, without duplicates. */
  arrived: number;
  duplicates: number;
};

/** All sources: a path to a caller leads over sources without a contract, too. Of the others nothing is counted. */
async function readSourceContracts(db: Queryable): Promise<SourceContractRow[]> {
  return db.query<SourceContractRow>(
    `select s.name, s.contract, s.known_days as "knownDays", coalesce(l.parked, 0)::bigint as parked, l.oldest as "oldestHourMs",
            coalesce(f.arrived, 0)::bigint as arrived, coalesce(f.duplicates, 0)::bigint as duplicates
       from sources s
       left join (
         select source_id, sum(n) as parked, min(hour) filter (where n > 0) + interval '1 hour' as oldest
           from (select source_id, hour, sum(n) as n from dlq_source_level_ages where status = any($1::text[]) group by 1, 2) hours
          group by source_id
       ) l on l.source_id = s.id and s.contract is not null
       left join lateral (
         select sum(n) as arrived, sum(known) as duplicates from (
           select parked + bounced + unstored as n, duplicate as known from dlq_flow_minutes where source_id = s.id and at > now() - interval '1 hour'
           union all
           select case when kind = 'duplicate' then 0 else n end, case when kind = 'duplicate' then n else 0 end from dlq_flow
            where source_id = s.id and minute > now() - interval '1 hour'
              and kind in ('parked', 'bounced', 'unstored', 'duplicate')) flow
       ) f on s.contract is not null
      order by s.name`,
    [PARKED_STATUSES],
    { name: "source-contracts" },
  );
}

/** Among so many of the newest events of all sources: read along the primary key, whatever the size of the store. */
const NEWEST = 2_000;

/**
 * The longest span of each source among the newest events: from the first arrival to the redrive, or by which a later version arrived
 * before an earlier one of its aggregate. Milliseconds by name; a source without such an event is absent.
 */
async function readSpans(db: Queryable): Promise<Map<string, number>> {
  const rows = await db.query<{ name: string; ms: number | null }>(
    `with newest as materialized (
       select source_id, aggregate_type, aggregate_id, version, first_seen, redrive_at from dlq_events order by id desc limit ${NEWEST}),
     spans as (
       select source_id, redrive_at - first_seen as span from newest where redrive_at > first_seen
       union all
       select source_id, first_seen - min(first_seen) over (
                partition by source_id, aggregate_type, aggregate_id order by version desc range between unbounded preceding and 1 preceding)
         from newest where aggregate_id is not null and version is not null)
     select s.name, extract(epoch from max(span))::float8 * 1000 as ms
       from spans join sources s on s.id = source_id where span > interval '0' group by s.name`,
    [],
    { name: "contract-spans" },
  );
  return new Map(rows.flatMap(({ name, ms }) => (ms === null ? [] : [[name, ms]])));
}

const HOUR_S = 3_600;

/** Reports of the sources that the viewer sees and that have a contract, by name. Five statements at most, whatever their number. */
export async function sourceContractReports(
  db: Queryable,
  viewer: Viewer,
  nowMs: number,
): Promise<SourceContractReportOut[]> {
  assertMay(viewer, "view");
  const sources = await readSourceContracts(db);
  const promised = sources.filter(({ name, contract }) => contract !== null && sees(viewer, name));
  if (promised.length === 0) return [];
  const needsSpan = promised.some(
    ({ contract }) => contract!.dedupWindowMs !== null && contract!.reorderingSpanMs === null,
  );
  const [targets, policies, facts, spans] = await Promise.all([
    readTargets(db),
    readPolicies(db),
    readContractFacts(db),
    needsSpan ? readSpans(db) : new Map<string, number>(),
  ]);
  const callersOf = new Map(sources.map(({ name, contract }) => [name, contract?.callers ?? []]));
  const stages = new Map<string, Stage>(
    targets.map((target) => {
      const { deadlineMs, marginMs } = policyOf(target, policies);
      return [
        target.name,
        { deadlineMs, marginMs, callers: target.lane === "main" ? callersOf.get(target.source)! : [] },
      ];
    }),
  );
  const seen = new Set(targets.flatMap(({ name, source }) => (sees(viewer, source) ? [name] : [])));
  return promised.map((source) => reportOf(source, { targets, stages, seen, facts, spans, nowMs }));
}

function reportOf(
  source: SourceContractRow,
  read: {
    targets: TargetRow[];
    stages: Map<string, Stage>;
    /** Names of the targets that the viewer sees. */
    seen: Set<string>;
    facts: Map<string, ContractFacts>;
    spans: Map<string, number>;
    nowMs: number;
  },
): SourceContractReportOut {
  const { name, contract, knownDays, parked, oldestHourMs, arrived, duplicates } = source;
  const { targets, stages, seen, facts, spans, nowMs } = read;
  const { deadlineMs, marginMs } = stages.get(name)!;
  const report = sourceContractReport({
    contract: contract!,
    knownDays,
    ratePerSecond: targets.find((target) => target.name === name)!.ratePerSecond,
    deadlineMs,
    marginMs,
    parked,
    oldestMsMin: oldestHourMs === null ? null : Math.max(0, nowMs - oldestHourMs),
    arrivalsPerSecond: arrived / HOUR_S,
    arrivals: { all: arrived + duplicates, duplicates },
    spanMs: spans.get(name) ?? null,
    sent: sentOf(targets.flatMap((target) => (target.source === name ? (facts.get(target.name) ?? []) : []))),
    engine: facts.get(name) ?? null,
    paths: callPaths(name, stages).map((path) => maskedPath(path, seen, stages)),
  });
  return { source: name, ...report };
}

/** A caller at a distance may be of a source that the viewer does not see: its numbers count, and its name is not shown. */
function maskedPath(path: CallPath, seen: Set<string>, stages: Map<string, Stage>): CallPath {
  const masked = (name: string) => (seen.has(name) || !stages.has(name) ? name : "another source");
  const { caller, fault } = path;
  return {
    ...path,
    caller: masked(caller),
    stages: path.stages.map(masked),
    fault: fault === null || masked(caller) === caller ? fault : "another source is called by itself",
  };
}

function sentOf(facts: readonly ContractFacts[]) {
  if (facts.length === 0) return null;
  const sum = (part: "operations" | "retries" | "timeouts") => facts.reduce((total, each) => total + each[part], 0);
  return { operations: sum("operations"), retries: sum("retries"), timeouts: sum("timeouts") };
}

/** The report of one source. Throws DomainError `unknown-source`, also for a source without a contract. */
export async function sourceContractReportOf(
  db: Queryable,
  viewer: Viewer,
  { name, nowMs }: { name: string; nowMs: number },
): Promise<SourceContractReportOut> {
  const report = (await sourceContractReports(db, viewer, nowMs)).find(({ source }) => source === name);
  if (report) return report;
  const known = sees(viewer, name) && (await readSourceContracts(db)).some((source) => source.name === name);
  if (!known) throw unknownSource(name);
  throw new DomainError("unknown-source", `${name} has no contract`, {
    fields: [{ field: "name", detail: `set one with PATCH /api/v1/sources/${name} { contract, reason }` }],
  });
}
