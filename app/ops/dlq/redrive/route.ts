import { refuseBody } from "@/app/_server/body";
import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { opsRedriveFrom } from "@/lib/contract/ops-redrive";
import { requestRedrive } from "@/lib/operations/request-redrive";

export const POST = handle({
  query: opsRedriveFrom,
  status: 202,
  run: async ({ deps, request, query, viewer }) => {
    await refuseBody(request);
    return requestRedrive(deps, { request: query, idempotency: idempotencyOf(request, viewer, query) }, viewer);
  },
});
