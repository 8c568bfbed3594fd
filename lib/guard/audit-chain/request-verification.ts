import { readVerification } from "@/lib/guard/audit-chain/verifications.read";
import type { AuditVerificationOut, VerificationRequest } from "@/lib/guard/audit-chain/verifications.shapes";
import { joinOrInsertVerification } from "@/lib/guard/audit-chain/verifications.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const RETRY_MS = 30_000;

/**
 * Asks a worker for a check, or joins one of the same extent that waits. Throws DomainError `too-many-requests` when too many
 * with anchors wait. For viewers of every source.
 */
export async function requestVerification(
  db: Db,
  viewer: Viewer,
  { extent, anchors }: VerificationRequest,
  nowMs: number,
): Promise<AuditVerificationOut> {
  assertMay(viewer, "view", "all");
  const row = { id: uuidv7(nowMs), extent, by: viewer.name, anchors, nowMs };
  const id = await joinOrInsertVerification(db, row);
  if (id === null)
    throw new DomainError("too-many-requests", "Other checks with anchors wait: try again when one has ended", {
      retryAfterMs: RETRY_MS,
    });
  return readVerification(db, viewer, id);
}
