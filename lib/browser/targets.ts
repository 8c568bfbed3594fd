import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { TargetList, TargetOut } from "@/lib/contract/sources";
import { type ApiError, fetchJson } from "./fetch-json";
import { invalidateAfter, keys } from "./keys";

const LIVE_MS = 2_000;

/** Every target with what the workers last said about it. Few enough for one page. */
export function useTargets() {
  return useQuery<TargetList, ApiError>({
    queryKey: keys.targets,
    queryFn: ({ signal }) => fetchJson<TargetList>("/api/v1/targets?limit=200", { signal }),
    refetchInterval: LIVE_MS,
    retry: false,
  });
}

export type TargetChange = {
  ratePerSecond?: number | null;
  burst?: number | null;
  bulkhead?: number;
  policyName?: string;
  retryable?: boolean;
  /** `open`/`closed` holds it there, `reset` forgets what it counted and lets it decide again. */
  breaker?: "open" | "closed" | "reset";
  reason: string;
};

export function useChangeTarget(name: string) {
  const client = useQueryClient();
  return useMutation<TargetOut, ApiError, TargetChange>({
    mutationFn: (body) =>
      fetchJson<TargetOut>(`/api/v1/targets/${encodeURIComponent(name)}`, { method: "PATCH", body }),
    onSuccess: () => invalidateAfter(client, "targets"),
  });
}

/** GET /api/v1/policies: the newest version of each. */
export type PolicyOut = {
  name: string;
  version: number;
  body: unknown;
  reason: string | null;
  createdBy: string;
  createdAt: string;
  /** Names of the targets that use it. */
  usedBy: string[];
};

const policies = [...keys.targets, "policies"] as const;

export function usePolicies() {
  return useQuery<{ items: PolicyOut[] }, ApiError>({
    queryKey: policies,
    queryFn: ({ signal }) => fetchJson<{ items: PolicyOut[] }>("/api/v1/policies", { signal }),
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
  return useMutation<PolicyOut, ApiError, { name: string; body: unknown; reason: string }>({
    mutationFn: ({ name, ...body }) =>
      fetchJson<PolicyOut>(`/api/v1/policies/${encodeURIComponent(name)}`, { method: "PUT", body }),
    onSuccess: () => invalidateAfter(client, "targets"),
  });
}
