import type { SourceChange } from "@/lib/contract/sources";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import { assertReferences, parseSourceConfig, redactConfig, restoreMasked } from "@/lib/kinds/kinds";
import type { SourceDeps } from "@/lib/operations/create-source";
import { assertPayloadSchema } from "@/lib/operations/payload-schema";
import { unknownSource } from "@/lib/store/read/sources";
import { updateSource as updateRow } from "@/lib/store/write/sources";

/** Changes a source; its name and kind stay. Throws DomainError `unknown-source` or `invalid-config`. */
export async function updateSource(
  deps: SourceDeps,
  { name, change }: { name: string; change: SourceChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-source", [name]);
  const { reason, ...columns } = change;
  await assertPayloadSchema(deps.schemas, columns.payloadSchema);
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const stored = await prisma.source.findUnique({ where: { name } });
    if (!stored) throw unknownSource(name);
    const before = shown(stored);
    if (columns.config) {
      const edited = restoreMasked(stored.kind, columns.config, stored.config as Record<string, unknown>);
      const source = parseSourceConfig(stored.kind, edited);
      assertReferences(source, deps.env.envReferences);
      columns.config = source.config;
    }
    const after = shown(await updateRow(prisma, stored.id, columns));
    await audit({
      actor: viewer.name,
      action: "source.changed",
      subjectKind: "source",
      subjectId: name,
      reason,
      before,
      after,
      count: 1,
      atMs: deps.clock.wallMs(),
    });
  });
}

type Stored = { kind: string; config: unknown; payloadSchema: unknown; enabled: boolean };

function shown({ kind, config, payloadSchema, enabled }: Stored) {
  return { config: redactConfig(kind, config as Record<string, unknown>), payloadSchema, enabled };
}
