import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import type { ContractFact } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { contractReports } from "@/lib/sources/contracts/contract-reports";
import { sourceContractReports } from "@/lib/sources/contracts/source-contract-reports";

/** The contracts of all targets and sources, as their reports have them. */
export async function readBrokenContracts(db: Queryable, nowMs: number): Promise<ContractFact[]> {
  const viewer = systemViewer("alerts");
  const targets = await contractReports(db, viewer);
  const sources = await sourceContractReports(db, viewer, nowMs);
  return [...targets, ...sources.map((report) => ({ target: null, ...report }))].map((report) => ({
    target: report.target,
    source: report.source,
    broken: report.assertions.filter(({ result }) => result === "broken").map(({ id }) => id),
  }));
}
