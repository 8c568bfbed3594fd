import { savedViewOut } from "@/lib/events/views/saved-views.read";
import type { SavedView, SavedViewRequest } from "@/lib/events/views/saved-views.shapes";
import { assertMay, seesAll, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { takingName } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** Stores a filter under a name. Throws DomainError `name-taken`. */
export async function saveView(
  deps: LowRateDeps,
  { name, filter }: SavedViewRequest,
  viewer: Viewer,
): Promise<SavedView> {
  assertMay(viewer, "change-view", filter.source);
  const nowMs = deps.clock.wallMs();
  return takingName("view", name, () =>
    deps.lowRate.write(async ({ prisma, audit }) => {
      const row = await prisma.savedView.create({ data: { id: uuidv7(nowMs), name, filter, createdBy: viewer.name } });
      await audit({
        actor: viewer.name,
        action: "view.saved",
        subjectId: name,
        after: { filter },
        atMs: nowMs,
      });
      return savedViewOut(row);
    }),
  );
}

/** Throws DomainError `unknown-view`. */
export async function deleteView(deps: LowRateDeps, id: string, viewer: Viewer): Promise<void> {
  assertMay(viewer, "change-view");
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const view = await prisma.savedView.findUnique({ where: { id } });
    if (!view || !seesAll(viewer, (view.filter as EventFilter).source ?? []))
      throw new DomainError("unknown-view", "Saved view not found");
    await prisma.savedView.delete({ where: { id } });
    await audit({
      actor: viewer.name,
      action: "view.deleted",
      subjectId: view.name,
      before: { filter: view.filter },
      atMs: deps.clock.wallMs(),
    });
  });
}
