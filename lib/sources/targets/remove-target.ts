import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { unknownTarget } from "@/lib/sources/targets/redrive-target";
import type { TargetRemoval } from "@/lib/sources/targets/targets.shapes";
import { fallingBackTo, liveRedrivesTo, lockTargets } from "@/lib/sources/targets/targets.write";

/**
 * Removes a named target. Throws DomainError `unknown-target`, or `target-in-use` while a redrive delivers to it or a
 * target falls back to it; a lane's target stays as long as its source.
 */
export async function removeTarget(
  deps: LowRateDeps,
  { name, reason }: { name: string } & TargetRemoval,
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-target");
  await deps.lowRate.write(async ({ prisma, audit }) => {
    await lockTargets(prisma, { name });
    const target = await prisma.target.findUnique({ where: { name }, include: { source: true } });
    if (!target || !sees(viewer, target.source.name)) throw unknownTarget(name);
    assertMay(viewer, "change-source", [target.source.name]);
    const { destination, source } = target;
    if (destination === null)
      throw inUse(name, `it is the ${target.lane} lane of ${source.name}, which always has both lanes`);
    const redrives = await liveRedrivesTo(prisma, [target.id]);
    if (redrives.length > 0)
      throw inUse(name, `redrive ${redrives[0]} delivers to it: cancel it, or wait until it is done`);
    const other = await fallingBackTo(prisma, [target.id]);
    if (other) {
      const shown = sees(viewer, other.source) ? other.name : "a target of another source";
      throw inUse(name, `${shown} falls back to it: change that fallback first`);
    }
    await prisma.target.delete({ where: { id: target.id } });
    await audit({
      actor: viewer.name,
      action: "target.removed",
      subjectId: name,
      reason,
      before: {
        source: source.name,
        destination: redactConfig(source.kind, destination as Record<string, unknown>),
      },
      atMs: deps.clock.wallMs(),
    });
  });
}

function inUse(name: string, why: string): DomainError {
  return new DomainError("target-in-use", `${name} cannot be removed: ${why}`, {
    fields: [{ field: "name", detail: why }],
  });
}
