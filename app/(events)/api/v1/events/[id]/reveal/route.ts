import { handle } from "@/app/_server/handle";
import { revealRequestSchema } from "@/lib/guard/masking/mask-rules.shapes";
import { revealedEventSchema } from "@/lib/guard/masking/reveal.shapes";
import { revealEvent } from "@/lib/guard/masking/reveal-event";
import { byId } from "@/lib/platform/api/query.shapes";

export const POST = handle({
  id: "revealEvent",
  summary: "One event with nothing masked, with a reason that the audit keeps",
  params: byId("unknown-event"),
  body: revealRequestSchema,
  answer: revealedEventSchema,
  status: 200,
  problems: ["unknown-revision"],
  run: ({ deps, viewer, params: { id }, body }) => revealEvent(deps, { id, ...body }, viewer),
});
