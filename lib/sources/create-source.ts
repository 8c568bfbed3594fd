import { isDeepStrictEqual } from "node:util";
import { assertPermitted } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig, restoreMasked } from "@/lib/brokers/kinds/config-secrets.shapes";
import { KINDS, kindOf } from "@/lib/brokers/kinds/kinds.shapes";
import { KNOWN_DAYS } from "@/lib/brokers/source-limits.pure";
import type { SourceMode } from "@/lib/brokers/source-mode.pure";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Clock } from "@/lib/platform/clock";
import { ANSWER_KEPT_MS } from "@/lib/platform/database/idempotent-request.write";
import { nameTaken } from "@/lib/platform/database/name-taken";
import { isNameTaken, type LowRateStore } from "@/lib/platform/database/prisma";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { parseEditedConfig } from "@/lib/sources/edited-config.shapes";
import { assertTemplates } from "@/lib/sources/links/links.shapes";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import type { SchemaCheck } from "@/lib/sources/schemas/schema-check";
import { writeSourceSchema } from "@/lib/sources/schemas/store-schema";
import type { SourceRequest } from "@/lib/sources/sources.shapes";
import { insertSource } from "@/lib/sources/sources.write";

export type SourceDeps = {
  lowRate: LowRateStore;
  clock: Clock;
  schemas: SchemaCheck;
  env: ConfigLimits;
};

/**
 * Creates a source and its two targets. `repeated`: the request may be one whose answer was lost after the commit, so that
 * a source which this viewer made just so is the answer. Throws DomainError `invalid-config` or `name-taken`.
 */
export async function createSource(
  deps: SourceDeps,
  request: SourceRequest,
  viewer: Viewer,
  { repeated = false } = {},
): Promise<void> {
  assertMay(viewer, "change-source", [request.name]);
  const config = parseEditedConfig(request.kind, restoreMasked(request.kind, request.config, null));
  assertPermitted(config, deps.env, null);
  assertTemplates(request.links);
  const payloadSchema = request.payloadSchema ?? null;
  await assertPayloadSchema(deps.schemas, payloadSchema);
  const nowMs = deps.clock.wallMs();
  const [id, main, slow] = [uuidv7(nowMs), uuidv7(nowMs), uuidv7(nowMs)];
  const {
    name,
    stormPerMinute = null,
    knownDays = KNOWN_DAYS.usual,
    links = [],
    retryable = false,
    mode = request.enabled ? "running" : "stopped",
  } = request;
  assertModeOf(config.kind, mode);
  const after = {
    kind: config.kind,
    config: redactConfig(config.kind, config.config),
    payloadSchema,
    mode,
    stormPerMinute,
    knownDays,
    links,
    retryable,
  };
  try {
    await deps.lowRate.write(async ({ prisma, audit }) => {
      await insertSource(prisma, {
        id,
        name,
        config,
        mode,
        stormPerMinute,
        knownDays,
        links,
        retryable,
        targetIds: { main, slow },
      });
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
        subjectId: name,
        after,
        atMs: nowMs,
      });
    });
  } catch (error) {
    if (!isNameTaken(error)) throw error;
    const made = await readMade(deps.lowRate, name, viewer);
    if (made === null) throw nameTaken("source or target", name);
    const stored = JSON.parse(JSON.stringify({ ...after, config: config.config }));
    const isRecent = made.at.getTime() > nowMs - ANSWER_KEPT_MS;
    if (!repeated || !isRecent || !isDeepStrictEqual(made.as, stored)) throw nameTaken("source", name, made.at);
  }
}

/** How the source of this name was made, and when; `as` is null when somebody else made it. null = there is none. */
async function readMade(store: LowRateStore, name: string, viewer: Viewer): Promise<{ at: Date; as: unknown } | null> {
  return store.read(async (prisma) => {
    const source = await prisma.source.findUnique({ where: { name } });
    if (source === null) return null;
    const entry = await prisma.auditEntry.findFirst({
      where: { subjectKind: "source", subjectId: name, action: "source.created" },
      orderBy: { id: "desc" },
    });
    const as = entry?.actor === viewer.name ? (entry.after as Record<string, unknown>) : null;
    // The entry holds the configuration without its secrets.
    return { at: source.createdAt, as: as ? { ...as, config: source.config } : null };
  });
}

/** Throws DomainError `invalid-config` for a mode that only a source can have that is read. */
export function assertModeOf(kind: string, mode: SourceMode): void {
  if (mode === "running" || mode === "stopped") return;
  if (KINDS.some((known) => known === kind && kindOf(known).capabilities.reads)) return;
  throw new DomainError("invalid-config", `a source of kind ${kind} is not read, so it cannot be ${mode}`, {
    fields: [{ field: "mode", detail: "use running or stopped" }],
  });
}
