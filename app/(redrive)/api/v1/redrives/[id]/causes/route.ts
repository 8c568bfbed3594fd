import { handle } from "@/app/_server/handle";
import { byId } from "@/lib/platform/api/query.shapes";
import { readRedriveCauses } from "@/lib/redrive/list/redrive-items.read";
import { redriveCausesSchema } from "@/lib/redrive/list/redrive-items.shapes";

export const GET = handle({
  id: "readRedriveCauses",
  summary: "Failures and refusals by cause, with samples",
  params: byId("unknown-redrive"),
  answer: redriveCausesSchema,
  run: ({ deps, viewer, params }) => readRedriveCauses(deps.db, viewer, params.id),
});
