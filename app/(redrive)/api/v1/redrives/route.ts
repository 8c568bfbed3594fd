import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { BODY_ID, SELECT_PROBLEMS } from "@/app/_server/operation";
import { listRedrives } from "@/lib/redrive/list/redrives.read";
import { redriveListSchema, redrivesQuery } from "@/lib/redrive/redrives.shapes";
import { redriveAnswerSchema, redriveRequestSchema } from "@/lib/redrive/request/redrive-request.shapes";
import { requestRedrive } from "@/lib/redrive/request/request-redrive";

export const GET = handle({
  id: "listRedrives",
  summary: "Redrives, newest first",
  query: redrivesQuery,
  answer: redriveListSchema,
  coalesce: true,
  run: ({ deps, viewer, query, nowMs }) => listRedrives(deps.db, viewer, query, nowMs),
});

export const POST = handle({
  id: "requestRedrive",
  summary: "Redrive or verify events",
  body: redriveRequestSchema,
  idempotent: "own",
  status: 202,
  answer: redriveAnswerSchema,
  problems: [...SELECT_PROBLEMS, "unknown-target", "above-ceiling"],
  links: { getRedrive: BODY_ID, listRedriveItems: BODY_ID, changeRedrive: BODY_ID },
  run: ({ deps, request, body, viewer }) =>
    requestRedrive(deps, { request: body, idempotency: idempotencyOf(request, viewer, body) }, viewer),
});
