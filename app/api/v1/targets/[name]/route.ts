import { handle } from "@/app/_server/handle";
import { addressOf } from "@/app/_server/target-address";
import { targetChangeSchema } from "@/lib/contract/targets";
import type { Viewer } from "@/lib/core/viewer";
import { changeTarget, unknownTarget } from "@/lib/operations/change-target";
import type { Queryable } from "@/lib/store/db";
import { listTargets } from "@/lib/store/read/target-list";

async function shown(db: Queryable, viewer: Viewer, name: string) {
  const { items } = await listTargets(db, viewer, addressOf);
  const target = items.find((item) => item.name === name);
  if (!target) throw unknownTarget(name);
  return target;
}

export const GET = handle({ run: ({ deps, viewer, params }) => shown(deps.db, viewer, params.name!) });

export const PATCH = handle({
  body: targetChangeSchema,
  run: async ({ deps, params, body, viewer }) => {
    await changeTarget(deps, { name: params.name!, change: body }, viewer);
    return shown(deps.db, viewer, params.name!);
  },
});
