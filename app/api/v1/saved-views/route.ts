import { handle } from "@/app/_server/handle";
import { savedViewRequestSchema } from "@/lib/contract/saved-views";
import { saveView } from "@/lib/operations/save-view";
import { listSavedViews } from "@/lib/store/read/saved-views";

export const GET = handle({ run: ({ deps, viewer }) => listSavedViews(deps.lowRate, viewer) });

export const POST = handle({
  body: savedViewRequestSchema,
  status: 201,
  run: ({ deps, body, viewer }) => saveView(deps, body, viewer),
});
