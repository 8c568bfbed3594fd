import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import type { ContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import type { TargetList, TargetOut } from "@/lib/sources/sources.shapes";
import type { PolicyOut, PolicyRequest, TargetChange, TargetRequest } from "@/lib/sources/targets/targets.shapes";

const LIVE_MS = 2_000;
const CONTRACTS_MS = 10_000;

/** Every target with the last reports of the workers. They fit one page. */
export function useTargets() {
  return useQuery<TargetList, ApiError>({
    queryKey: keys.targets,
    queryFn: ({ signal }) => fetchJson<TargetList>("/api/v1/targets", { signal }),
    refetchInterval: LIVE_MS,
    retry: false,
  });
}

export function useChangeTarget(name: string) {
  const client = useQueryClient();
  return useMutation<TargetOut, ApiError, TargetChange>({
    mutationFn: (body) =>
      fetchJson<TargetOut>(`/api/v1/targets/${encodeURIComponent(name)}`, { method: "PATCH", body }),
    onSuccess: () => void invalidateAfter(client, "targets"),
  });
}

export function useAddTarget(source: string) {
  const client = useQueryClient();
  return useMutation<TargetOut, ApiError, TargetRequest>({
    mutationFn: (body) =>
      fetchJson<TargetOut>(`/api/v1/sources/${encodeURIComponent(source)}/targets`, { method: "POST", body }),
    onSuccess: () => void invalidateAfter(client, "targets"),
  });
}

export function useRemoveTarget() {
  const client = useQueryClient();
  return useMutation<unknown, ApiError, { name: string; reason: string }>({
    mutationFn: ({ name, reason }) =>
      fetchJson(`/api/v1/targets/${encodeURIComponent(name)}`, { method: "DELETE", body: { reason } }),
    onSuccess: () => void invalidateAfter(client, "targets"),
  });
}

const policies = [...keys.targets, "policies"] as const;

export function usePolicies() {
  return useQuery<{ items: PolicyOut[] }, ApiError>({
    queryKey: policies,
    queryFn: ({ signal }) => fetchJson<{ items: PolicyOut[] }>("/api/v1/policies", { signal }),
  });
}

/** Reports of the targets that have a contract. They are as old as the workers' heartbeats. */
export function useContractReports() {
  return useQuery<{ items: ContractReportOut[] }, ApiError>({
    queryKey: [...keys.targets, "contracts"],
    queryFn: ({ signal }) => fetchJson<{ items: ContractReportOut[] }>("/api/v1/contracts", { signal }),
    refetchInterval: CONTRACTS_MS,
    retry: false,
  });
}

/** All versions of one policy, newest first. */
export function usePolicyVersions(name: string, enabled: boolean) {
  return useQuery<{ items: PolicyOut[] }, ApiError>({
    queryKey: [...policies, name],
    queryFn: ({ signal }) =>
      fetchJson<{ items: PolicyOut[] }>(`/api/v1/policies/${encodeURIComponent(name)}`, { signal }),
    enabled,
  });
}

export function useSavePolicy() {
  const client = useQueryClient();
  return useMutation<PolicyOut, ApiError, PolicyRequest & { name: string }>({
    mutationFn: ({ name, ...body }) =>
      fetchJson<PolicyOut>(`/api/v1/policies/${encodeURIComponent(name)}`, { method: "PUT", body }),
    onSuccess: () => void invalidateAfter(client, "targets"),
  });
}
