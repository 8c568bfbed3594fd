import { handle } from "@/app/_server/handle";
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
  creates: ["deleteView"],
  answer: savedViewSchema,
  problems: ["name-taken"],
  run: (call) => saveView(call.deps, call.body, call.viewer),
});
