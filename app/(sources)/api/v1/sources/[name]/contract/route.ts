import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { sourceContractReportSchema } from "@/lib/sources/contracts/contracts.shapes";
import { sourceContractReportOf } from "@/lib/sources/contracts/source-contract-reports";

export const GET = handle({
  id: "getSourceContractReport",
  summary: "The contract of one source, checked",
  params: byName("unknown-source"),
  answer: sourceContractReportSchema,
  coalesce: true,
  run: ({ deps, viewer, params }) =>
    sourceContractReportOf(deps.db, viewer, { name: params.name, nowMs: deps.clock.wallMs() }),
});
