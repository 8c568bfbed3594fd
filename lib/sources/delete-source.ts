import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { SourceDeps } from "@/lib/sources/create-source";
import { lockSource } from "@/lib/sources/sources.write";
import { fallingBackTo, liveRedrivesTo, lockTargets } from "@/lib/sources/targets/targets.write";

/**
 * Removes a source and its targets. Throws DomainError `unknown-source`, or `source-in-use` while the store holds
 * events of the source, which would lose their origin and their target, while a redrive names one of its targets, and while a target of another
 * source falls back to one.
 */
export async function deleteSource(
  deps: Pick<SourceDeps, "lowRate" | "clock">,
  name: string,
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-source", [name]);
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const locked = await lockSource(prisma, name);
    if (!locked) throw unknownSource(name);
    if (locked.events) {
      throw new DomainError("source-in-use", `${name} still has events: stop it, and delete it once they are gone`, {
        fields: [{ field: "name", detail: "set mode to stopped instead" }],
      });
    }
    const targets = await lockTargets(prisma, { sourceId: locked.id });
    const redrives = await liveRedrivesTo(prisma, targets);
    if (redrives.length > 0)
      throw inUse(name, `redrive ${redrives[0]} delivers to a target of it: cancel it, or wait until it is done`);
    const other = await fallingBackTo(prisma, targets);
    if (other) {
      const shown = sees(viewer, other.source) ? other.name : "a target of another source";
      throw inUse(name, `${shown} falls back to its target ${other.to}: change that fallback first`);
    }
    const { kind, config, mode } = await prisma.source.delete({ where: { id: locked.id } });
    // A later source of this name has other aggregates.
    await prisma.control.updateMany({
      where: { source: name, origin: "automatic", liftedAt: null },
      data: { liftedAt: iso(deps.clock.wallMs()), liftedBy: viewer.name, liftReason: "its source was deleted" },
    });
    await audit({
      actor: viewer.name,
      action: "source.deleted",
      subjectId: name,
      before: { kind, config: redactConfig(kind, config as Record<string, unknown>), mode },
      atMs: deps.clock.wallMs(),
    });
  });
}

function inUse(name: string, detail: string): DomainError {
  return new DomainError("source-in-use", `${name} cannot be deleted: ${detail}`, {
    fields: [{ field: "name", detail }],
  });
}
