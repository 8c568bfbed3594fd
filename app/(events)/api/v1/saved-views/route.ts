import { handle } from "@/app/_server/handle";
import { BODY_ID } from "@/app/_server/operation";
import { saveView } from "@/lib/events/views/save-view";
import { listSavedViews } from "@/lib/events/views/saved-views.read";
import { savedViewListSchema, savedViewRequestSchema, savedViewSchema } from "@/lib/events/views/saved-views.shapes";

export const GET = handle({
  id: "listSavedViews",
  summary: "Filters with a name",
  answer: savedViewListSchema,
  run: ({ deps, viewer }) => listSavedViews(deps, viewer),
});

export const POST = handle({
  id: "saveView",
  summary: "Save a filter under a name",
  body: savedViewRequestSchema,
  idempotent: true,
  status: 201,
  answer: savedViewSchema,
  problems: ["name-taken"],
  links: { deleteView: BODY_ID },
  run: (call) => saveView(call.deps, call.body, call.viewer),
});
