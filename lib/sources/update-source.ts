import { assertPermitted } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig, restoreMasked } from "@/lib/brokers/kinds/config-secrets.shapes";
import { parseDestination } from "@/lib/brokers/kinds/destination.shapes";
import type { SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import type { SourceMode } from "@/lib/brokers/source-mode.pure";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Prisma, Target } from "@/lib/platform/database/generated/client";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";
import { isSeenCaller } from "@/lib/sources/contracts/call-paths.pure";
import type { SourceContract } from "@/lib/sources/contracts/source-contract.pure";
import { assertModeOf, type SourceDeps } from "@/lib/sources/create-source";
import { parseEditedConfig } from "@/lib/sources/edited-config.shapes";
import { assertTemplates } from "@/lib/sources/links/links.shapes";
import { assertPayloadSchema } from "@/lib/sources/schemas/payload-schema";
import { currentSchema } from "@/lib/sources/schemas/payload-schemas.write";
import { writeSourceSchema } from "@/lib/sources/schemas/store-schema";
import type { SourceChange } from "@/lib/sources/sources.shapes";
import { type SourceColumns, updateSource as updateRow } from "@/lib/sources/sources.write";

/** Changes a source; its name and kind stay. Throws DomainError `unknown-source` or `invalid-config`. */
export async function updateSource(
  deps: SourceDeps,
  { name, change }: { name: string; change: SourceChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-source", [name]);
  const { reason, config, payloadSchema, needsApproval, stormPerMinute, knownDays, links, contract } = change;
  const columns: SourceColumns = { config, needsApproval, stormPerMinute, knownDays, links, contract };
  assertTemplates(links);
  await assertPayloadSchema(deps.schemas, payloadSchema);
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const stored = await prisma.source.findUnique({ where: { name } });
    if (!stored) throw unknownSource(name);
    const eventType = null;
    const schemaBefore = (await currentSchema(prisma, { sourceId: stored.id, eventType }))?.body ?? null;
    const before = shown(stored, schemaBefore);
    if (config) {
      const storedConfig = stored.config as Record<string, unknown>;
      const edited = restoreMasked(stored.kind, config, storedConfig);
      const source = parseEditedConfig(stored.kind, edited);
      assertPermitted(source, deps.env, storedConfig);
      columns.config = source.config;
      const targets = await prisma.target.findMany({ where: { sourceId: stored.id, lane: null } });
      for (const target of targets) assertDelivers(target, source, deps.env);
    }
    if (contract) {
      await assertContract(prisma, { name, contract }, viewer);
      // Callers that the viewer does not see stay: the viewer's form did not have them.
      const hidden = ((stored.contract as SourceContract | null)?.callers ?? []).filter(
        (caller) => !isSeenCaller(viewer, caller),
      );
      columns.contract = { ...contract, callers: [...contract.callers, ...hidden] };
    }
    const mode = modeAfter(stored.mode as SourceMode, change);
    if (mode !== stored.mode) {
      assertModeOf(stored.kind, mode);
      columns.mode = { mode, atMs: deps.clock.wallMs(), by: viewer.name, reason: reason ?? null };
    }
    if (payloadSchema !== undefined) {
      const facts = { reason: reason ?? null, actor: viewer.name, atMs: deps.clock.wallMs() };
      await writeSourceSchema(prisma, { sourceId: stored.id, body: payloadSchema, ...facts });
    }
    const schemaAfter = payloadSchema === undefined ? schemaBefore : payloadSchema;
    const after = shown(await updateRow(prisma, stored.id, columns), schemaAfter);
    await audit({
      actor: viewer.name,
      action: "source.changed",
      subjectId: name,
      reason,
      before,
      after,
      atMs: deps.clock.wallMs(),
    });
  });
}

/** Throws DomainError `invalid-config` when a named target does not fit the source's new configuration. */
function assertDelivers({ name, destination }: Target, source: SourceConfig, limits: ConfigLimits): void {
  try {
    const stored = destination as Record<string, unknown>;
    parseDestination(source, stored, { stored, limits });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const detail = `does not fit target ${name}: ${error.message}`;
    throw new DomainError("invalid-config", `this configuration ${detail}`, { fields: [{ field: "config", detail }] });
  }
}

/** A margin that leaves nothing of the deadline, and callers that the viewer does not see, or that are the source itself. */
async function assertContract(
  prisma: Prisma.TransactionClient,
  { name, contract }: { name: string; contract: SourceContract },
  viewer: Viewer,
): Promise<void> {
  const fields: FieldError[] = [];
  const { callerDeadlineMs, marginMs, callers } = contract;
  if (callerDeadlineMs !== null && (marginMs ?? 0) >= callerDeadlineMs) {
    const detail = `must be below callerDeadlineMs (${callerDeadlineMs}): lower the margin or raise the deadline`;
    fields.push({ field: "contract.marginMs", detail });
  }
  const targets = await prisma.target.findMany({
    where: { name: { in: callers } },
    select: { name: true, source: { select: { name: true } } },
  });
  const known = new Set(targets.filter(({ source }) => sees(viewer, source.name)).map((target) => target.name));
  for (const [index, caller] of callers.entries()) {
    const field = `contract.callers[${index}]`;
    if (caller === name) fields.push({ field, detail: "a source cannot call itself: name another one" });
    else if (!known.has(caller)) {
      const detail = `there is no source or target ${JSON.stringify(caller)}: list them with GET /api/v1/targets`;
      fields.push({ field, detail });
    } else if (callers.indexOf(caller) < index) fields.push({ field, detail: `${caller} is listed twice` });
  }
  if (fields.length === 0) return;
  const text = fields.map(({ field, detail }) => `${field} ${detail}`).join("; ");
  throw new DomainError("invalid-config", text, { fields });
}

/** A client that knows `enabled` alone starts a stopped source, and leaves a paused one as it is. */
function modeAfter(stored: SourceMode, { mode, enabled }: SourceChange): SourceMode {
  if (mode !== undefined) return mode;
  if (enabled === undefined) return stored;
  return enabled ? (stored === "stopped" ? "running" : stored) : "stopped";
}

type Stored = {
  kind: string;
  config: unknown;
  mode: string;
  needsApproval: boolean;
  stormPerMinute: number | null;
  knownDays: number | null;
  links: unknown;
  contract: unknown;
};

function shown(stored: Stored, payloadSchema: unknown) {
  const { kind, config, mode, needsApproval, stormPerMinute, knownDays, links, contract } = stored;
  return {
    config: redactConfig(kind, config as Record<string, unknown>),
    payloadSchema,
    mode,
    needsApproval,
    stormPerMinute,
    knownDays,
    links,
    contract,
  };
}
