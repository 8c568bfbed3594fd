import { TARGETS_PATH } from "@/lib/platform/api/first-reads.pure";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { resourceOf, useChange, useRead } from "@/lib/platform/browser/resource.browser";
import type { ContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import type { TargetList, TargetOut } from "@/lib/sources/sources.shapes";
import type { PolicyOut, PolicyRequest, TargetChange, TargetRequest } from "@/lib/sources/targets/targets.shapes";

const LIVE_MS = 2_000;
const IDLE_MS = 10_000;
const CONTRACTS_MS = 10_000;

/** Every target with the last reports of the workers, which change as often as they are read here while one of them is at work. */
export const useTargets = () =>
  useRead<TargetList>("targets", TARGETS_PATH, {
    refetchInterval: ({ state }) => (state.data?.items.some(isAtWork) ? LIVE_MS : IDLE_MS),
    retry: false,
  });

function isAtWork({ sentPerSecondNow, unreachable, engine }: TargetOut): boolean {
  const isBusy = engine.some(({ bulkhead, breaker }) => bulkhead.inUse > 0 || (breaker?.waitMs ?? null) !== null);
  return isBusy || unreachable !== null || (sentPerSecondNow ?? 0) > 0;
}

export const { usePatch: useChangeTarget, useRemove: useRemoveTarget } = resourceOf<TargetOut, never, TargetChange>(
  TARGETS_PATH,
  "targets",
);

export const useAddTarget = (source: string) =>
  useChange("targets", (body: TargetRequest) =>
    fetchJson<TargetOut>(`/api/v1/sources/${encodeURIComponent(source)}/targets`, { method: "POST", body }),
  );

export const usePolicies = () => useRead<{ items: PolicyOut[] }>("targets", "/api/v1/policies");

/** Reports of the targets that have a contract. They are as old as the workers' heartbeats. */
export const useContractReports = () =>
  useRead<{ items: ContractReportOut[] }>("targets", "/api/v1/contracts", {
    refetchInterval: CONTRACTS_MS,
    retry: false,
  });

export const usePolicyVersions = (name: string, enabled: boolean) =>
  useRead<{ items: PolicyOut[] }>("targets", `/api/v1/policies/${encodeURIComponent(name)}`, { enabled });

export const useSavePolicy = () =>
  useChange("targets", ({ name, ...body }: PolicyRequest & { name: string }) =>
    fetchJson<PolicyOut>(`/api/v1/policies/${encodeURIComponent(name)}`, { method: "PUT", body }),
  );
