import { handle } from "@/app/_server/handle";
import { revealRequestSchema } from "@/lib/guard/masking/mask-rules.shapes";
import { byId } from "@/lib/platform/api/query.shapes";
import { revealedEventSchema } from "@/lib/repair/revisions/reveal.shapes";
import { revealEvent } from "@/lib/repair/revisions/reveal-event";

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
