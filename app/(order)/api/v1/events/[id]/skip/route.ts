import { handle } from "@/app/_server/handle";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import { skipRequestSchema, tailSchema, unskipRequestSchema } from "@/lib/order/tails/tails.shapes";
import { byId } from "@/lib/platform/api/query.shapes";

const params = byId("unknown-event");

export const PUT = handle({
  id: "skipHead",
  summary:
    "Let later versions of an aggregate be sent before its head, until the head is revised, is released or bounces",
  params,
  body: skipRequestSchema,
  answer: tailSchema,
  problems: ["illegal-transition"],
  run: ({ deps, params: { id }, body: { reason }, viewer }) => skipHead(deps, { id, reason }, viewer),
});

export const DELETE = handle({
  id: "undoSkip",
  summary: "Let a skipped event hold the later versions again",
  params,
  // Many clients cannot send a body with DELETE: then the schema's own reason stands.
  body: unskipRequestSchema,
  bodyOptional: true,
  answer: tailSchema,
  run: ({ deps, params: { id }, body: { reason }, viewer }) => undoSkip(deps, { id, reason }, viewer),
});
