import { handle } from "@/app/_server/handle";
import { byName } from "@/lib/platform/api/query.shapes";
import { deleteSource } from "@/lib/sources/delete-source";
import { readSource } from "@/lib/sources/sources.read";
import { sourceChangeSchema, sourceSchema } from "@/lib/sources/sources.shapes";
import { updateSource } from "@/lib/sources/update-source";

const params = byName("unknown-source");

export const GET = handle({
  id: "getSource",
  summary: "One source",
  params,
  answer: sourceSchema,
  coalesce: true,
  run: ({ deps, viewer, params: { name } }) => readSource(deps, viewer, name),
});

export const PATCH = handle({
  id: "updateSource",
  summary: "Change a source",
  params,
  body: sourceChangeSchema,
  answer: sourceSchema,
  problems: ["invalid-config"],
  run: async ({ deps, params: { name }, body, viewer }) => {
    await updateSource(deps, { name, change: body }, viewer);
    return readSource(deps, viewer, name);
  },
});

export const DELETE = handle({
  id: "deleteSource",
  summary: "Delete a source that has no events",
  params,
  problems: ["source-in-use"],
  run: ({ deps, params: { name }, viewer }) => deleteSource(deps, name, viewer),
});
