import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/contract/api-error";
import type {
  ProbeOut,
  ProbeRequest,
  SourceChange,
  SourceList,
  SourceOut,
  SourceRequest,
} from "@/lib/contract/sources";
import { fetchJson } from "./fetch-json";
import { invalidateAfter, keys } from "./keys";

const POLL_MS = 5_000;

export function useSources() {
  return useQuery<SourceList, ApiError>({
    queryKey: keys.sources,
    queryFn: ({ signal }) => fetchJson<SourceList>("/api/v1/sources?limit=200", { signal }),
    refetchInterval: POLL_MS,
    retry: false,
  });
}

const path = (name: string) => `/api/v1/sources/${encodeURIComponent(name)}`;

export function useCreateSource() {
  const client = useQueryClient();
  return useMutation<SourceOut, ApiError, SourceRequest>({
    mutationFn: (body) => fetchJson<SourceOut>("/api/v1/sources", { method: "POST", body }),
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

/** Tests the connection and reads a sample: of a stored source by name, or of an unsaved source. */
export function useProbe() {
  return useMutation<ProbeOut, ApiError, { name: string } | ProbeRequest>({
    mutationFn: (probe) =>
      "name" in probe
        ? fetchJson<ProbeOut>(`${path(probe.name)}/probe`, { method: "POST" })
        : fetchJson<ProbeOut>("/api/v1/sources/probe", { method: "POST", body: probe }),
  });
}
