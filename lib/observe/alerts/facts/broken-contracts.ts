import { systemViewer } from "@/lib/guard/viewer/viewer.pure";
import type { ContractFact } from "@/lib/observe/alerts/facts/alert-facts.pure";
import type { Queryable } from "@/lib/platform/database/db";
import { contractReports } from "@/lib/sources/contracts/contract-reports";

/** The contracts of all targets, as their reports have them. */
export async function readBrokenContracts(db: Queryable): Promise<ContractFact[]> {
  const reports = await contractReports(db, systemViewer("alerts"));
  return reports.map(({ target, source, assertions }) => ({
    target,
    source,
    broken: assertions.filter(({ result }) => result === "broken").map(({ id }) => id),
  }));
}
