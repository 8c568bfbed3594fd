import { handle } from "@/app/_server/handle";
import { tryMasking } from "@/lib/events/detail/try-masking";
import { maskTrialRequestSchema, maskTrialSchema } from "@/lib/guard/masking/mask-rules.shapes";

export const POST = handle({
  id: "tryMasking",
  summary: "What the rules mask in a sample or an event, and by which rule; stores nothing",
  body: maskTrialRequestSchema,
  answer: maskTrialSchema,
  largeBody: true,
  status: 200,
  problems: ["unknown-event", "invalid-mask-rule"],
  run: ({ deps, viewer, body }) => tryMasking(deps.db, body, viewer),
});
