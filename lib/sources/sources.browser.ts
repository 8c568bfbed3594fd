import { keepPreviousData, useMutation } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { KINDS_PATH, SOURCES_PATH } from "@/lib/platform/api/first-reads.pure";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { resourceOf, useRead } from "@/lib/platform/browser/resource.browser";
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

const POLL_MS = 15_000;

export const useSources = () =>
  useRead<SourceList>("sources", SOURCES_PATH, { refetchInterval: POLL_MS, retry: false });

/** Polled as often as workers report. */
const ONE_POLL_MS = 2_000;
const path = (name: string) => `/api/v1/sources/${encodeURIComponent(name)}`;

export const useSource = (name: string) =>
  useRead<SourceOut>("sources", path(name), { refetchInterval: ONE_POLL_MS, retry: false });

/** The kinds of source: they change with the version of the server alone. */
export const useKinds = () => useRead<KindList>("kinds", KINDS_PATH, { staleTime: Number.POSITIVE_INFINITY });

const CONTRACT_POLL_MS = 10_000;

/** The report of its contract; `promised` = it has one. It is as old as the workers' heartbeats. */
export const useSourceContractReport = (name: string, promised: boolean) =>
  useRead<SourceContractReportOut>("sources", `${path(name)}/contract`, {
    refetchInterval: CONTRACT_POLL_MS,
    enabled: promised,
    retry: false,
  });

/** The name and the kind of a source never change. */
export const {
  useCreate: useCreateSource,
  usePatch: useSaveSource,
  useRemove: useDeleteSource,
} = resourceOf<SourceOut, SourceRequest, SourceChange>("/api/v1/sources", "sources");

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
  const sent = samples.map(({ message, customary }) => ({ message, customary }));
  return useRead<MappingPreview>("mapping-preview", "/api/v1/sources/preview-mapping", {
    asks: samples.length > 0 ? { mapping, samples: sent } : null,
    by: { sampledAt, mapping },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
