import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { awaitOpenSends } from "@/lib/order/controls/await-open-sends";
import type { StoredScope } from "@/lib/order/controls/control.pure";
import type { ControlRequest } from "@/lib/order/controls/controls.shapes";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { uuidv7 } from "@/lib/platform/ids";
import { iso, isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** `underWay`: number of covered events that were still being sent at the answer; null = the store did not answer. */
type ImposedControl = { id: string; underWay: number | null };

/**
 * Puts a control in force, for parked and for future events. A control that refuses events waits, at most two seconds,
 * for the sends under way that it covers: no other send begins. Throws DomainError `invalid-request` for an expiry in
 * the past, or a cooldown without an expiry.
 */
export async function imposeControl(
  deps: Deps & { lowRate: LowRateStore },
  request: ControlRequest,
  viewer: Viewer,
): Promise<ImposedControl> {
  assertMay(viewer, "control", request.scope.source === undefined ? "all" : [request.scope.source]);
  const nowMs = deps.clock.wallMs();
  const expiresAtMs = request.expiresAt ? Date.parse(request.expiresAt) : null;
  assertExpiry(request, expiresAtMs, nowMs);
  const id = uuidv7(nowMs);
  await deps.lowRate.write(async ({ prisma, audit }) => {
    const { kind, reason } = request;
    const times = { createdAt: iso(nowMs), expiresAt: isoOrNull(expiresAtMs) };
    await prisma.control.create({
      data: { id, kind, ...storedScope(request.scope), reason, createdBy: viewer.name, ...times },
    });
    await audit({
      actor: viewer.name,
      action: "control.imposed",
      subjectId: id,
      reason,
      after: { kind, scope: request.scope, expiresAt: request.expiresAt ?? null },
      atMs: nowMs,
    });
  });
  const underWay = request.kind === "whitelist" ? 0 : await awaitOpenSends(deps, { controlId: id });
  return { id, underWay };
}

/** A source beside another scope restricts that scope to the source; alone, the source is the scope. */
function storedScope(asked: ControlRequest["scope"]): StoredScope {
  const source = asked.source ?? null;
  if ("aggregateId" in asked) {
    return { scope: "aggregateId", value: asked.aggregateId, aggregateType: asked.aggregateType ?? null, source };
  }
  if ("eventId" in asked) return { scope: "eventId", value: asked.eventId, aggregateType: null, source };
  if ("errorCode" in asked) return { scope: "errorCode", value: asked.errorCode, aggregateType: null, source };
  return { scope: "source", value: asked.source, aggregateType: null, source: null };
}

function assertExpiry(request: ControlRequest, expiresAtMs: number | null, nowMs: number): void {
  if (expiresAtMs === null && request.kind === "cooldown") {
    throw new DomainError("invalid-request", "expiresAt: a cooldown must end; to refuse permanently, use a blacklist", {
      fields: [{ field: "expiresAt", detail: "give the time at which the cooldown ends" }],
    });
  }
  if (expiresAtMs !== null && expiresAtMs <= nowMs) {
    throw new DomainError("invalid-window", "expiresAt: this time has passed", {
      fields: [{ field: "expiresAt", detail: "give a time in the future" }],
    });
  }
}
