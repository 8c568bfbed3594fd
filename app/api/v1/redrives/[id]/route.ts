import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { redriveChangeSchema } from "@/lib/contract/redrives";
import type { Viewer } from "@/lib/core/viewer";
import { changeRedrive, unknownRedrive } from "@/lib/operations/change-redrive";
import type { Queryable } from "@/lib/store/db";
import { readRedrive } from "@/lib/store/read/redrives";

async function shown(db: Queryable, viewer: Viewer, id: string, nowMs: number) {
  const redrive = await readRedrive(db, viewer, id, nowMs);
  if (!redrive) throw unknownRedrive(id);
  return redrive;
}

export const GET = handle({
  run: ({ deps, viewer, params, nowMs }) => shown(deps.db, viewer, idParam(params.id, "unknown-redrive"), nowMs),
});

export const PATCH = handle({
  body: redriveChangeSchema,
  run: async ({ deps, params, body, viewer, nowMs }) => {
    const id = idParam(params.id, "unknown-redrive");
    const { underWay } = await changeRedrive(deps, { id, change: body }, viewer);
    return { ...(await shown(deps.db, viewer, id, nowMs)), underWay };
  },
});
