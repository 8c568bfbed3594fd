import { handle } from "@/app/_server/handle";
import { listKinds } from "@/app/_server/sources/kinds";
import { kindListSchema } from "@/lib/sources/kinds.shapes";

export const GET = handle({
  id: "listKinds",
  summary: "The kinds of source and their settings",
  answer: kindListSchema,
  run: async ({ viewer }) => listKinds(viewer),
});
