import { type QueryClient, useMutation } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { useChange, useRead } from "@/lib/platform/browser/resource.browser";
import type {
  InferredSchema,
  SchemaChange,
  SchemaList,
  SchemaRequest,
  SchemaTrial,
  SchemaTryRequest,
  SchemaVersionDetail,
} from "@/lib/sources/schemas/payload-schemas.shapes";

const ofSource = (source: string) => `/api/v1/sources/${encodeURIComponent(source)}/schemas`;
const ofId = (id: string) => `/api/v1/schemas/${encodeURIComponent(id)}`;

export const useSchemas = (source: string) => useRead<SchemaList>("sources", ofSource(source), { retry: false });

/** One version with its text, and all versions of its event type. null = none is asked for. */
export const useSchema = (id: string | null) =>
  useRead<SchemaVersionDetail>("sources", id && ofId(id), { retry: false });

export const useStoreSchema = (source: string) =>
  useChange("sources", (body: SchemaRequest) =>
    fetchJson<SchemaVersionDetail>(ofSource(source), { method: "POST", body, once: true }),
  );

export async function changeSchema(
  client: QueryClient,
  id: string,
  change: SchemaChange,
): Promise<SchemaVersionDetail> {
  const changed = await fetchJson<SchemaVersionDetail>(ofId(id), { method: "PATCH", body: change });
  await invalidateAfter(client, "sources");
  return changed;
}

/** Reads events that went through. Nothing is stored. */
export function useInferSchema(source: string) {
  return useMutation<InferredSchema, ApiError, { eventType: string | null }>({
    mutationFn: (body) => fetchJson<InferredSchema>(`${ofSource(source)}/infer`, { method: "POST", body, reads: true }),
  });
}

/** How the newest parked and redriven events fare. Nothing is stored. */
export function useTrySchema(source: string) {
  return useMutation<SchemaTrial, ApiError, SchemaTryRequest>({
    mutationFn: (body) => fetchJson<SchemaTrial>(`${ofSource(source)}/try`, { method: "POST", body, reads: true }),
  });
}
