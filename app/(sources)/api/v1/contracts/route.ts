import { handle } from "@/app/_server/handle";
import { contractReports } from "@/lib/sources/contracts/contract-reports";
import { contractReportListSchema } from "@/lib/sources/contracts/contracts.shapes";
import { sourceContractReports } from "@/lib/sources/contracts/source-contract-reports";

export const GET = handle({
  id: "listContractReports",
  summary: "Contracts of targets and sources, each assertion with its numbers and result",
  answer: contractReportListSchema,
  coalesce: true,
  run: async ({ deps, viewer }) => ({
    items: await contractReports(deps.db, viewer),
    sources: await sourceContractReports(deps.db, viewer, deps.clock.wallMs()),
  }),
});
