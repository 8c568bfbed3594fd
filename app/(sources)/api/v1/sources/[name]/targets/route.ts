import { handle } from "@/app/_server/handle";
import { shownTarget } from "@/app/_server/sources/target-address";
import { byName } from "@/lib/platform/api/query.shapes";
import { targetSchema } from "@/lib/sources/sources.shapes";
import { addTarget } from "@/lib/sources/targets/add-target";
import { targetRequestSchema } from "@/lib/sources/targets/targets.shapes";

export const POST = handle({
  id: "addTarget",
  summary: "Add a named target to a source",
  params: byName("unknown-source"),
  body: targetRequestSchema,
  idempotent: true,
  status: 201,
  answer: targetSchema,
  problems: ["invalid-config", "name-taken"],
  run: async (call) => {
    const { deps, params, body, viewer } = call;
    await addTarget(deps, { source: params.name, request: body }, viewer);
    return shownTarget(deps.db, viewer, body.name);
  },
});
