import { refuseBody } from "@/app/_server/body";
import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID } from "@/app/_server/operation";
import { opsRedriveQuery } from "@/lib/redrive/request/ops-redrive.shapes";
import { redriveAnswerSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";

export const POST = handle({
  id: "redriveInOneCall",
  summary: "Redrive in one call, for scripts and runbooks: a second identical call redrives nothing twice",
  query: opsRedriveQuery,
  idempotent: "own",
  status: 202,
  answer: redriveAnswerSchema,
  problems: ["unknown-target", "unsupported-filter"],
  links: { getRedrive: BODY_ID },
  run: async ({ deps, request, query, viewer }) => {
    await refuseBody(request);
    return requestRedrive(deps, { request: query, idempotency: idempotencyOf(request, viewer, query) }, viewer);
  },
});
