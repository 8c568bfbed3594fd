import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import type { SourceContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import type { KindList } from "@/lib/sources/kinds.shapes";
import type {
  MappingPreview,
  ProbeOut,
  ProbeRequest,
  ProbeSampleOut,
  SourceChange,
  SourceList,
  SourceOut,
  SourceRequest,
} from "@/lib/sources/sources.shapes";

const POLL_MS = 5_000;

export function useSources() {
  return useQuery<SourceList, ApiError>({
    queryKey: keys.sources,
    queryFn: ({ signal }) => fetchJson<SourceList>("/api/v1/sources?limit=200", { signal }),
    refetchInterval: POLL_MS,
    retry: false,
  });
}

/** Polled as often as workers report. */
const ONE_POLL_MS = 2_000;

export function useSource(name: string) {
  return useQuery<SourceOut, ApiError>({
    queryKey: keys.source(name),
    queryFn: ({ signal }) => fetchJson<SourceOut>(path(name), { signal }),
    refetchInterval: ONE_POLL_MS,
    retry: false,
  });
}

/** The kinds of source: they change with the version of the server alone. */
export function useKinds() {
  return useQuery<KindList, ApiError>({
    queryKey: keys.kinds,
    queryFn: ({ signal }) => fetchJson<KindList>("/api/v1/kinds", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const CONTRACT_POLL_MS = 10_000;

/** The report of its contract; `promised` = it has one. It is as old as the workers' heartbeats. */
export function useSourceContractReport(name: string, promised: boolean) {
  return useQuery<SourceContractReportOut, ApiError>({
    queryKey: [...keys.source(name), "contract"],
    queryFn: ({ signal }) => fetchJson<SourceContractReportOut>(`${path(name)}/contract`, { signal }),
    refetchInterval: CONTRACT_POLL_MS,
    enabled: promised,
    retry: false,
  });
}

const path = (name: string) => `/api/v1/sources/${encodeURIComponent(name)}`;

export function useCreateSource() {
  const client = useQueryClient();
  return useMutation<SourceOut, ApiError, SourceRequest>({
    mutationFn: (body) => fetchJson<SourceOut>("/api/v1/sources", { method: "POST", body, once: true }),
    onSuccess: () => void invalidateAfter(client, "sources"),
  });
}

/** The name and the kind of a source never change. */
export function useSaveSource(name: string) {
  const client = useQueryClient();
  return useMutation<SourceOut, ApiError, SourceChange>({
    mutationFn: (body) => fetchJson<SourceOut>(path(name), { method: "PATCH", body }),
    onSuccess: () => void invalidateAfter(client, "sources"),
  });
}

export function useDeleteSource() {
  const client = useQueryClient();
  return useMutation<unknown, ApiError, { name: string }>({
    mutationFn: ({ name }) => fetchJson(path(name), { method: "DELETE" }),
    onSuccess: () => void invalidateAfter(client, "sources"),
  });
}

export function useRetrySource(name: string) {
  return useMutation<unknown, ApiError, void>({
    mutationFn: () => fetchJson(`${path(name)}/retry`, { method: "POST" }),
  });
}

/** `name`: of a stored source; its masked values then stand for the stored ones, and without `config` it is as stored. */
type Probe = { name: string; config?: ProbeRequest["config"] } | ProbeRequest;

export function useProbe() {
  return useMutation<ProbeOut, ApiError, Probe>({
    mutationFn: (probe) =>
      "name" in probe
        ? fetchJson<ProbeOut>(`${path(probe.name)}/probe`, { method: "POST", body: { config: probe.config } })
        : fetchJson<ProbeOut>("/api/v1/sources/probe", { method: "POST", body: probe }),
  });
}

/** The facts of sampled messages under a mapping. `sampledAt` tells one probe from another. */
export function useMappingPreview(
  samples: readonly ProbeSampleOut[],
  mapping: Record<string, unknown>,
  sampledAt: number,
) {
  return useQuery<MappingPreview, ApiError>({
    queryKey: keys.mappingPreview(sampledAt, mapping),
    queryFn: ({ signal }) => {
      const sent = samples.map(({ message, customary }) => ({ message, customary }));
      const body = { mapping, samples: sent };
      return fetchJson<MappingPreview>("/api/v1/sources/preview-mapping", {
        method: "POST",
        body,
        signal,
        reads: true,
      });
    },
    enabled: samples.length > 0,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
