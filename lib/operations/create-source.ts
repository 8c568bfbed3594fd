import type { SourceRequest } from "@/lib/contract/sources";
import { DomainError } from "@/lib/core/problem";
import type { SourceMode } from "@/lib/core/source-mode";
import { assertMay, type Viewer } from "@/lib/core/viewer";
import { assertReferences, KINDS, kindOf, parseSourceConfig, redactConfig, restoreMasked } from "@/lib/kinds/kinds";
import { takingName } from "@/lib/operations/name-taken";
import { assertPayloadSchema } from "@/lib/operations/payload-schema";
import { writeSourceSchema } from "@/lib/operations/store-schema";
import type { Clock } from "@/lib/platform/clock";
import { uuidv7 } from "@/lib/platform/ids";
import type { SchemaCheck } from "@/lib/redriving/schema-check";
import type { LowRateStore } from "@/lib/store/prisma";
import { insertSource } from "@/lib/store/write/sources";

export type SourceDeps = {
  lowRate: LowRateStore;
  clock: Clock;
  schemas: SchemaCheck;
  env: { envReferences: readonly string[] };
};

/** Creates a source and its two targets. Throws DomainError `invalid-config` or `name-taken`. */
export async function createSource(deps: SourceDeps, request: SourceRequest, viewer: Viewer): Promise<void> {
  assertMay(viewer, "change-source", [request.name]);
  const config = parseSourceConfig(request.kind, restoreMasked(request.kind, request.config, null));
  assertReferences(config, deps.env.envReferences);
  const payloadSchema = request.payloadSchema ?? null;
  await assertPayloadSchema(deps.schemas, payloadSchema);
  const nowMs = deps.clock.wallMs();
  const [id, main, slow] = [uuidv7(nowMs), uuidv7(nowMs), uuidv7(nowMs)];
  const { name, mode = request.enabled ? "running" : "stopped" } = request;
  assertModeOf(config.kind, mode);
  await takingName("source or target", name, () =>
    deps.lowRate.write(async ({ prisma, audit }) => {
      await insertSource(prisma, { id, name, config, mode, targetIds: { main, slow } });
      if (payloadSchema) {
        await writeSourceSchema(prisma, {
          sourceId: id,
          body: payloadSchema,
          reason: null,
          actor: viewer.name,
          atMs: nowMs,
        });
      }
      await audit({
        actor: viewer.name,
        action: "source.created",
        subjectKind: "source",
        subjectId: name,
        before: null,
        after: { kind: config.kind, config: redactConfig(config.kind, config.config), payloadSchema, mode },
        count: 1,
        atMs: nowMs,
      });
    }),
  );
}

/** Throws DomainError `invalid-config` for a mode that only a source can have that is read. */
export function assertModeOf(kind: string, mode: SourceMode): void {
  if (mode === "running" || mode === "stopped") return;
  if (KINDS.some((known) => known === kind && kindOf(known).capabilities.reads)) return;
  throw new DomainError("invalid-config", `a source of kind ${kind} is not read, so it cannot be ${mode}`, {
    fields: [{ field: "mode", detail: "use running or stopped" }],
  });
}
