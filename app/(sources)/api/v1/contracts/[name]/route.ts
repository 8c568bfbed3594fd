import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { contractReportOf } from "@/lib/sources/contracts/contract-reports";
import { contractReportSchema } from "@/lib/sources/contracts/contracts.shapes";

export const GET = handle({
  id: "getContractReport",
  summary: "The contract of one target, checked",
  params: byName("unknown-target"),
  answer: contractReportSchema,
  coalesce: true,
  run: ({ deps, viewer, params }) => contractReportOf(deps.db, viewer, params.name),
});
