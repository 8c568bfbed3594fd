import { handle } from "@/app/_server/handle";
import { shownTarget } from "@/app/_server/sources/target-address";
import { byName } from "@/lib/platform/api/query.shapes";
import { targetSchema } from "@/lib/sources/sources.shapes";
import { changeTarget } from "@/lib/sources/targets/change-target";
import { removeTarget } from "@/lib/sources/targets/remove-target";
import { targetChangeSchema, targetRemovalSchema } from "@/lib/sources/targets/targets.shapes";

const target = { params: byName("unknown-target"), answer: targetSchema };

export const GET = handle({
  id: "getTarget",
  summary: "One target with the live state of its engines",
  ...target,
  coalesce: true,
  run: ({ deps, viewer, params }) => shownTarget(deps.db, viewer, params.name),
});

export const PATCH = handle({
  id: "changeTarget",
  summary: "Change a target; it is in force within a second",
  ...target,
  body: targetChangeSchema,
  problems: ["unknown-policy", "invalid-config", "name-taken"],
  run: async ({ deps, params, body, viewer }) => {
    await changeTarget(deps, { name: params.name, change: body }, viewer);
    return shownTarget(deps.db, viewer, body.name ?? params.name);
  },
});

export const DELETE = handle({
  id: "removeTarget",
  summary: "Remove a named target that no redrive and no fallback uses",
  params: target.params,
  // Many clients cannot send a body with DELETE: then the schema's own reason stands.
  body: targetRemovalSchema,
  bodyOptional: true,
  problems: ["target-in-use"],
  run: ({ deps, params: { name }, body: { reason }, viewer }) => removeTarget(deps, { name, reason }, viewer),
});
