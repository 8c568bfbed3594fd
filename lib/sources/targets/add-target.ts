import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { parseDestination } from "@/lib/brokers/kinds/destination.shapes";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { takingName } from "@/lib/platform/database/name-taken";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import type { TargetRequest } from "@/lib/sources/targets/targets.shapes";
import { insertTarget } from "@/lib/sources/targets/targets.write";

export type TargetDeps = LowRateDeps & { env: ConfigLimits };

/** Adds a named target, at the pace of a slow lane. Throws DomainError `unknown-source`, `invalid-config` or `name-taken`. */
export async function addTarget(
  deps: TargetDeps,
  { source: sourceName, request }: { source: string; request: TargetRequest },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-source", [sourceName]);
  assertMay(viewer, "change-target");
  const { name, retryable = false, reason } = request;
  const atMs = deps.clock.wallMs();
  await takingName("source or target", name, () =>
    deps.lowRate.write(async ({ prisma, audit }) => {
      const source = await prisma.source.findUnique({ where: { name: sourceName } });
      if (!source) throw unknownSource(sourceName);
      const stored = { kind: source.kind, config: source.config as Record<string, unknown> };
      const destination = parseDestination(stored, request.destination, { stored: null, limits: deps.env });
      await insertTarget(prisma, { id: uuidv7(atMs), sourceId: source.id, name, destination, retryable });
      await audit({
        actor: viewer.name,
        action: "target.added",
        subjectId: name,
        reason,
        after: { source: sourceName, destination: redactConfig(source.kind, destination), retryable },
        atMs,
      });
    }),
  );
}
