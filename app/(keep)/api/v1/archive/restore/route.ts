import { handle } from "@/app/_server/handle";
import { restoreAnswerSchema, restoreSchema } from "@/lib/keep/archive/archive.shapes";
import { restoreArchived } from "@/lib/keep/archive/restore-archived";

export const POST = handle({
  id: "restoreArchivedEvents",
  summary: "Put archived events back into the store, as they were",
  body: restoreSchema,
  answer: restoreAnswerSchema,
  problems: ["archive-unavailable", "unknown-event"],
  idempotent: true,
  run: ({ deps, body, viewer }) => restoreArchived(deps, body, viewer),
});
