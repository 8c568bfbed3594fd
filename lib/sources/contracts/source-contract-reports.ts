import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type CallPath, callPaths, type Stage } from "@/lib/sources/contracts/call-paths.pure";
import type { ContractFacts } from "@/lib/sources/contracts/contract.pure";
import { readContractFacts } from "@/lib/sources/contracts/contract-facts.read";
import { policyOf } from "@/lib/sources/contracts/contract-reports";
import type { SourceContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import { sourceContractReport } from "@/lib/sources/contracts/source-contract.pure";
import { readSourceContracts, readSpans, type SourceContractRow } from "@/lib/sources/contracts/source-facts.read";
import { readPolicies } from "@/lib/sources/policies/policies.read";
import { unknownSource } from "@/lib/sources/sources.read";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";

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
  const { name, contract, knownDays, parked, oldestHourMs, arrived } = source;
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
    spanMs: spans.get(name) ?? null,
    sent: sentOf(targets.flatMap((target) => (target.source === name ? (facts.get(target.name) ?? []) : []))),
    engine: facts.get(name) ?? null,
    paths: callPaths(name, stages).map((path) => maskedPath(path, seen, stages)),
  });
  return { source: name, ...report };
}

/** A caller at a distance may be of a source that the viewer does not see: its numbers count, and its name is not told. */
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
