import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Prisma } from "@/lib/platform/database/generated/client";
import { uuidv7 } from "@/lib/platform/ids";
import type { LowRateDeps } from "@/lib/platform/low-rate-deps";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { validatePolicy } from "@/lib/retry/policy";
import type { PolicyRequest } from "@/lib/sources/targets/targets.shapes";

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Stores and returns a new version; running redrives keep theirs. Throws DomainError `invalid-config` with every wrong field and its bound. */
export async function storePolicy(
  deps: LowRateDeps,
  input: { name: string; request: PolicyRequest },
  viewer: Viewer,
): Promise<number> {
  assertMay(viewer, "change-policy", "all");
  assertStorable(input.name, input.request.body);
  const atMs = deps.clock.wallMs();
  return deps.lowRate.write(async ({ prisma, audit }) => {
    const newest = await lockNewestPolicy(prisma, input.name);
    const version = (newest?.version ?? 0) + 1;
    const { body, reason } = input.request;
    await insertPolicy(prisma, { id: uuidv7(atMs), name: input.name, version, body, reason, createdBy: viewer.name });
    await audit({
      actor: viewer.name,
      action: "policy.stored",
      subjectId: input.name,
      reason,
      before: newest,
      after: { version, body },
      atMs,
    });
    return version;
  });
}

function assertStorable(name: string, body: unknown): void {
  if (!NAME.test(name)) {
    throw new DomainError("invalid-config", "name: use lower-case letters, digits and dashes, at most 63", {
      fields: [{ field: "name", detail: "use lower-case letters, digits and dashes, at most 63" }],
    });
  }
  const violations = validatePolicy(body);
  if (violations.length === 0) return;
  const fields = violations.map((violation) => ({
    field: `body.${violation.field}`,
    detail: `is ${JSON.stringify(violation.value) ?? "missing"}: must be ${violation.bound}`,
  }));
  throw new DomainError(
    "invalid-config",
    `The policy is not valid: ${fields.map((f) => `${f.field} ${f.detail}`).join("; ")}`,
    {
      fields,
    },
  );
}

/** The newest version, with the name locked until the transaction ends: two editors get two versions. */
async function lockNewestPolicy(
  client: Prisma.TransactionClient,
  name: string,
): Promise<{ version: number; body: unknown } | null> {
  await client.$executeRaw`select pg_advisory_xact_lock(hashtextextended('policy:' || ${name}, 0))`;
  return client.policy.findFirst({
    where: { name },
    orderBy: { version: "desc" },
    select: { version: true, body: true },
  });
}

async function insertPolicy(
  client: Prisma.TransactionClient,
  policy: { id: string; name: string; version: number; body: unknown; reason: string; createdBy: string },
): Promise<void> {
  await client.policy.create({ data: { ...policy, body: policy.body as Prisma.InputJsonObject } });
}
