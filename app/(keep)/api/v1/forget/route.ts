import { handle } from "@/app/_server/handle";
import { idempotencyOf } from "@/app/_server/idempotency";
import { assertKnownSource } from "@/app/_server/named-sources";
import { BODY_ID } from "@/app/_server/operation";
import {
  forgetAnswerSchema,
  forgetListSchema,
  forgetRequestSchema,
  forgetsQuery,
} from "@/lib/keep/forget/forget.shapes";
import { forgetData } from "@/lib/keep/forget/forget-data";
import { listForgets } from "@/lib/keep/forget/forgets.read";

export const GET = handle({
  id: "listForgets",
  summary: "What was forgotten, and how much of it, newest first; nothing names whose data it was",
  query: forgetsQuery,
  answer: forgetListSchema,
  run: ({ deps, viewer, query }) => listForgets(deps.db, viewer, query),
});

export const POST = handle({
  id: "forgetData",
  summary: "Delete what a key names in the store, the archive and the audit; a worker does it, and it cannot be undone",
  body: forgetRequestSchema,
  idempotent: "own",
  status: 202,
  answer: forgetAnswerSchema,
  problems: ["invalid-window", "unknown-source"],
  links: { getForget: BODY_ID },
  run: async (call) => {
    const { deps, request, body, viewer } = call;
    await assertKnownSource(call, body.source, "source");
    return forgetData(deps, { ...body, idempotency: idempotencyOf(request, viewer, body) }, viewer);
  },
});
