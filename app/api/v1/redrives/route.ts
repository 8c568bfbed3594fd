import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { redriveRequestSchema, redriveStatesFrom } from "@/lib/contract/redrives";
import { requestRedrive } from "@/lib/operations/request-redrive";
import { listRedrives } from "@/lib/store/read/redrives";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), states: redriveStatesFrom(namedParams(params, ["state"]).state) }),
  run: ({ deps, viewer, query, nowMs }) => listRedrives(deps.db, viewer, query, nowMs),
});

export const POST = handle({
  body: redriveRequestSchema,
  status: 202,
  run: ({ deps, request, body, viewer }) =>
    requestRedrive(deps, { request: body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
