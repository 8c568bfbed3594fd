import { handle } from "@/app/_server/handle";
import { contractReports } from "@/lib/sources/contracts/contract-reports";
import { contractReportListSchema } from "@/lib/sources/contracts/contracts.shapes";

export const GET = handle({
  id: "listContractReports",
  summary: "Contracts of targets, each assertion with its numbers and result",
  answer: contractReportListSchema,
  coalesce: true,
  run: async ({ deps, viewer }) => ({ items: await contractReports(deps.db, viewer) }),
});
