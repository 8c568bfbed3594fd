import { redactConfig } from "@/lib/brokers/kinds/config-secrets.shapes";
import { parseDestination } from "@/lib/brokers/kinds/destination.shapes";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { assertMay, sees, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Prisma, Source, Target } from "@/lib/platform/database/generated/client";
import { takingName } from "@/lib/platform/database/name-taken";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { POLICY_PRESETS } from "@/lib/retry/policy";
import { settingsOf, type TargetSettings } from "@/lib/sources/sources.shapes";
import type { TargetDeps } from "@/lib/sources/targets/add-target";
import { unknownTarget } from "@/lib/sources/targets/redrive-target";
import type { TargetChange } from "@/lib/sources/targets/targets.shapes";
import { holdTargetNamed, renameFallbacks, updateTarget } from "@/lib/sources/targets/targets.write";

/** Running redrives use the new values. Throws DomainError `unknown-target`, `unknown-policy`, `invalid-config`, `name-taken`. */
export async function changeTarget(
  deps: TargetDeps,
  input: { name: string; change: TargetChange },
  viewer: Viewer,
): Promise<void> {
  assertMay(viewer, "change-target");
  const { reason, breaker, name, destination, ...columns } = input.change;
  const atMs = deps.clock.wallMs();
  const write: Parameters<typeof deps.lowRate.write>[0] = async ({ prisma, audit }) => {
    if (columns.fallback?.kind === "target") await holdTargetNamed(prisma, columns.fallback.target);
    const stored = await prisma.target.findMany({ include: { source: true } });
    const targets = stored.filter(({ source }) => sees(viewer, source.name)).map(targetOf);
    const target = targets.find(({ name }) => name === input.name);
    if (!target) throw unknownTarget(input.name);
    await assertPolicy(prisma, columns.policyName);
    assertFallback(target, columns.fallback, targets);
    assertContract(columns.contract);
    const named = namedAfter(target, { name, destination }, deps.env);
    if (named !== null) assertMay(viewer, "change-source", [target.source]);
    const before = settingsOf(target);
    const after = { ...before, ...columns, breakerForce: breakerAfter(target, breaker) };
    const resetAtMs = breaker === "reset" ? atMs : null;
    await updateTarget(prisma, target.id, { target: after, named, resetAtMs, atMs });
    if (named !== null && named.name !== target.name) await renameFallbacks(prisma, target.name, named.name);
    await audit({
      actor: viewer.name,
      action: breaker === undefined ? "target.changed" : `target.breaker-${breaker}`,
      subjectKind: "target",
      subjectId: named?.name ?? input.name,
      reason,
      before: { ...before, ...(named && shownNamed(target)) },
      after: { ...after, ...(named && shownNamed({ ...target, ...named })) },
      atMs,
    });
  };
  await takingName("source or target", name ?? input.name, () => deps.lowRate.write(write));
}

type Json = Record<string, unknown>;
type StoredTarget = Target & { source: Source };
type EditedTarget = TargetSettings &
  Pick<Target, "id" | "name" | "lane"> &
  Pick<Source, "kind"> & { source: string; config: Json; destination: Json | null };

function targetOf({ source, fallback, contract, destination, ...target }: StoredTarget): EditedTarget {
  return {
    ...target,
    breakerForce: target.breakerForce as TargetSettings["breakerForce"],
    fallback: fallback as TargetSettings["fallback"],
    contract: contract as TargetSettings["contract"],
    destination: destination as Json | null,
    source: source.name,
    kind: source.kind,
    config: source.config as Json,
  };
}

/** What stays of name and destination after the change; null = neither changes. */
function namedAfter(
  target: EditedTarget,
  { name, destination }: Pick<TargetChange, "name" | "destination">,
  limits: ConfigLimits,
): { name: string; destination: Json } | null {
  if (name === undefined && destination === undefined) return null;
  if (target.destination === null) {
    const field = name === undefined ? "destination" : "name";
    const detail = `of the ${target.lane} lane of ${target.source} follows the source: edit the source, or add a target`;
    throw new DomainError("invalid-config", `${field} ${detail}`, { fields: [{ field, detail }] });
  }
  const stored = target.destination;
  return {
    name: name ?? target.name,
    destination: destination === undefined ? stored : parseDestination(target, destination, { stored, limits }),
  };
}

function shownNamed({ name, kind, source, destination }: EditedTarget) {
  return { name, source, destination: redactConfig(kind, destination!) };
}

function breakerAfter(target: TargetSettings, order: TargetChange["breaker"]) {
  if (order === undefined) return target.breakerForce;
  return order === "open" || order === "closed" ? order : null;
}

async function assertPolicy(prisma: Prisma.TransactionClient, name: string | undefined): Promise<void> {
  if (name === undefined || name in POLICY_PRESETS || (await prisma.policy.count({ where: { name } })) > 0) return;
  throw new DomainError("unknown-policy", `There is no policy ${name}`, {
    fields: [{ field: "policyName", detail: `use ${Object.keys(POLICY_PRESETS).join(", ")} or a stored policy` }],
  });
}

/** A margin that leaves nothing of the deadline: no policy could hold such a contract. */
function assertContract(contract: TargetChange["contract"]): void {
  if (!contract || contract.callerDeadlineMs === null || (contract.marginMs ?? 0) < contract.callerDeadlineMs) return;
  const detail = `must be below callerDeadlineMs (${contract.callerDeadlineMs}): lower the margin or raise the deadline`;
  throw new DomainError("invalid-config", `contract.marginMs ${detail}`, {
    fields: [{ field: "contract.marginMs", detail }],
  });
}

function assertFallback(
  target: EditedTarget,
  fallback: TargetChange["fallback"],
  targets: readonly EditedTarget[],
): void {
  const fault = faultOf(target, fallback, targets);
  if (fault === null) return;
  throw new DomainError("invalid-config", `fallback: ${fault}`, { fields: [{ field: "fallback", detail: fault }] });
}

/** The reason why a target cannot have this fallback, and the fix; null = it can. */
function faultOf(
  target: EditedTarget,
  fallback: TargetChange["fallback"],
  targets: readonly EditedTarget[],
): string | null {
  if (fallback?.kind === "slow-lane" && target.lane === "slow")
    return "this is the slow lane: use defer or another target";
  if (fallback?.kind !== "target") return null;
  const other = targets.find(({ name }) => name === fallback.target);
  if (!other) return `there is no target ${fallback.target}: list targets with GET /api/v1/targets`;
  if (other.id === target.id) return "a target cannot be its own fallback: name another one";
  return other.kind === target.kind
    ? null
    : `${other.name} is of kind ${other.kind}: name a target of kind ${target.kind}`;
}
