import { readVerification } from "@/lib/guard/audit-chain/verifications.read";
import type { AuditVerificationOut } from "@/lib/guard/audit-chain/verifications.shapes";
import { joinOrInsertVerification } from "@/lib/guard/audit-chain/verifications.write";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";

/** Makes the check of everything due at once, or joins one that waits. For viewers of every source. */
export async function requestVerification(db: Db, viewer: Viewer, nowMs: number): Promise<AuditVerificationOut> {
  assertMay(viewer, "view", "all");
  const id = await joinOrInsertVerification(db, { id: uuidv7(nowMs), by: viewer.name, nowMs });
  return readVerification(db, viewer, id);
}
