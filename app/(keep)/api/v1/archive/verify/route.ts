import { handle } from "@/app/_server/handle";
import { verifyAnswerSchema, verifySchema } from "@/lib/keep/archive/archive.shapes";
import { verifyArchive } from "@/lib/keep/archive/verify-archive";

export const POST = handle({
  id: "verifyArchive",
  summary: "Compare the objects of the archive with what was written",
  body: verifySchema,
  answer: verifyAnswerSchema,
  problems: ["archive-unavailable", "unknown-event"],
  idempotent: true,
  run: ({ deps, body, viewer }) => verifyArchive(deps, body, viewer),
});
