import type { QueryClient } from "@tanstack/react-query";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type {
  EditedAnswer,
  EditRequest,
  RestoreRequest,
  RevisedAnswer,
  RevisionDetail,
  RevisionList,
} from "@/lib/repair/revisions/revisions.shapes";
import type { SchemaCheckOut, SchemaCheckRequest } from "@/lib/sources/schemas/payload-schemas.shapes";

const pathOf = (id: string) => `/api/v1/events/${encodeURIComponent(id)}/revisions`;

/** All revisions of the event, newest first. `current` reads them again when another one becomes current. */
export const useRevisions = (id: string, current: number) =>
  useRead<RevisionList>("events", pathOf(id), { by: current });

/** One revision with its bytes, which never change. */
export const useRevision = (id: string, revision: number | null) =>
  useRead<RevisionDetail>("revision", revision === null ? null : `${pathOf(id)}/${revision}`, {
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Saves what was edited as a new revision, and makes it the current one. Parts that did not change are left out. */
export async function saveRevision(client: QueryClient, id: string, edit: EditRequest): Promise<EditedAnswer> {
  const saved = await fetchJson<EditedAnswer>(pathOf(id), { method: "POST", body: edit, once: true });
  await invalidateAfter(client, "events");
  return saved;
}

/** Makes a revision the current one. No bytes are copied. */
export async function restoreRevision(
  client: QueryClient,
  id: string,
  request: RestoreRequest,
): Promise<RevisedAnswer> {
  const restored = await fetchJson<RevisedAnswer>(`${pathOf(id)}/restore`, {
    method: "POST",
    body: request,
    once: true,
  });
  await invalidateAfter(client, "events");
  return restored;
}

/** What the schema of the source and the event type says of a payload. Nothing is stored. */
export function checkPayload(body: SchemaCheckRequest): Promise<SchemaCheckOut> {
  return fetchJson<SchemaCheckOut>("/api/v1/schemas/check", { method: "POST", body, reads: true });
}
