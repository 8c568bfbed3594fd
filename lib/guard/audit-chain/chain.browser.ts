import type { AuditChainOut, AuditVerificationOut } from "@/lib/guard/audit-chain/verifications.shapes";
import { useMe, useRefusal } from "@/lib/guard/viewer/me.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useChange, useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 15_000;
const RUNNING_POLL_MS = 1_000;

/** The state of the chain; read more often while a check runs. Not asked for by who may not see it: `refused` says so. */
export function useAuditChain(): { chain: AuditChainOut | undefined; refused: boolean } {
  const known = useMe().data !== undefined;
  const refused = useRefusal("view", true) !== null;
  const { data } = useRead<AuditChainOut>("audit-chain", "/api/v1/audit/chain", {
    refetchInterval: ({ state }) => (state.data?.running ? RUNNING_POLL_MS : POLL_MS),
    enabled: known && !refused,
  });
  return { chain: data, refused };
}

export const useVerifyAudit = () =>
  useChange("auditChain", () => fetchJson<AuditVerificationOut>("/api/v1/audit-verifications", { method: "POST" }));
