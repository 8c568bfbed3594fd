import {
  keepPreviousData,
  type QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { followedIds } from "@/lib/platform/browser/followed.browser";
import { invalidateAfter, keys, readKey } from "@/lib/platform/browser/keys.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { RedriveCauses, RedriveItemList } from "@/lib/redrive/list/redrive-items.shapes";
import { type RedriveListState, redriveListPath } from "@/lib/redrive/list/redrive-list.browser";
import type { PreviewOut, PreviewRequest, SampleOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import type { RedriveList, RedriveOut, RedriveRate } from "@/lib/redrive/redrives.shapes";
import type { RedriveAnswer, RedriveChange, RedriveRequest } from "@/lib/redrive/request/redrive-request.shapes";
import type { ItemOutcomeWord } from "@/lib/states/item-state.pure";
import { isFinal, type RedriveState } from "@/lib/states/redrive-state.pure";

const LIVE_MS = 1_000;
const LIST_LIVE_MS = 3_000;
const LIST_IDLE_MS = 15_000;
const PAGE = 50;

/** After the end of a redrive its delivered events are confirmed or bounce for a while, so it is polled slowly. */
const SETTLING_MS = 15_000;

function pollOne(redrive: RedriveOut | undefined): number | false {
  if (redrive === undefined) return LIVE_MS;
  if (!isFinal(redrive.state)) return LIVE_MS;
  return redrive.mode === "deliver" && redrive.delivered > redrive.confirmed + redrive.bounced ? SETTLING_MS : false;
}

function redrivePath(id: string): string {
  return `/api/v1/redrives/${encodeURIComponent(id)}`;
}

export function readRedrive(id: string, signal?: AbortSignal): Promise<RedriveOut> {
  return fetchJson<RedriveOut>(redrivePath(id), signal ? { signal } : {});
}

export function useRedrive(id: string) {
  return useQuery({
    queryKey: keys.redrives.detail(id),
    queryFn: ({ signal }) => readRedrive(id, signal),
    refetchInterval: ({ state: { data, error } }) =>
      error instanceof ApiError && error.code === "unknown-redrive" ? false : pollOne(data),
  });
}

/** Reads the parts of a redrive once more at its end, because the last poll may lack the last second. */
export function useLastLook(id: string, state: RedriveState | undefined): void {
  const client = useQueryClient();
  const ended = state !== undefined && isFinal(state);
  useEffect(() => {
    if (!ended) return;
    void client.invalidateQueries({ queryKey: readKey("redrives", `${redrivePath(id)}/rate`) });
    void client.invalidateQueries({ queryKey: readKey("redrives", `${redrivePath(id)}/causes`) });
    void client.invalidateQueries({ queryKey: ["redrives", "items", id] });
  }, [client, id, ended]);
}

/** @param live poll while the redrive runs; `useLastLook` reads it once more at its end */
export const useRedriveRate = (id: string, live: boolean) =>
  useRead<RedriveRate>("redrives", `${redrivePath(id)}/rate`, {
    refetchInterval: live ? 2 * LIVE_MS : false,
  });

/** The dry run of what a redrive has frozen, made once: it asks the target and its owner. */
export const useFrozenSample = (id: string) =>
  useRead<SampleOut>("redrives", `${redrivePath(id)}/check`, { staleTime: Number.POSITIVE_INFINITY });

export const useRedriveCauses = (id: string, live: boolean) =>
  useRead<RedriveCauses>("redrives", `${redrivePath(id)}/causes`, {
    refetchInterval: live ? 3 * LIVE_MS : false,
  });

type ItemQuery = {
  /** Absent = any. */
  outcome?: readonly ItemOutcomeWord[];
  result?: string | null;
  limit?: number;
  cursor?: string | null;
};

function itemsPath(id: string, query: ItemQuery): string {
  const params = new URLSearchParams({ limit: String(query.limit ?? PAGE) });
  if (query.outcome) params.set("outcome", query.outcome.join(","));
  if (query.result) params.set("result", query.result);
  if (query.cursor) params.set("cursor", query.cursor);
  return `${redrivePath(id)}/items?${params}`;
}

export function readItems(id: string, query: ItemQuery, signal?: AbortSignal): Promise<RedriveItemList> {
  return fetchJson<RedriveItemList>(itemsPath(id, query), signal ? { signal } : {});
}

/** The address of a file with all events of these outcomes. */
export function itemsExportHref(id: string, outcome: readonly ItemOutcomeWord[]): string {
  return `${redrivePath(id)}/export?outcome=${outcome.join(",")}&format=csv&bom=true`;
}

export function useRedriveItems(id: string, outcome: readonly ItemOutcomeWord[], live: boolean) {
  return useInfiniteQuery({
    queryKey: keys.redrives.items(id, { outcome }),
    queryFn: ({ signal, pageParam }) => readItems(id, { outcome, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
    // After a person has read a second page the rows must not move, so only the first page polls.
    refetchInterval: (query) => (live && (query.state.data?.pages.length ?? 0) <= 1 ? 3 * LIVE_MS : false),
  });
}

export const useRedrives = (asked: RedriveListState) =>
  usePages<RedriveList>(
    "redrives",
    redriveListPath(asked),
    (pages) =>
      pages.some(({ items }) => items.some((redrive) => !isFinal(redrive.state))) ? LIST_LIVE_MS : LIST_IDLE_MS,
    { persister: unlessUnchanged },
  );

/** The redrives in every state that is not final, for the overview. */
export const useRunningRedrives = (limit = 5, enabled = true) =>
  useRead<RedriveList>("redrives", `/api/v1/redrives?state=live&limit=${limit}`, {
    enabled,
    refetchInterval: (query) => (query.state.data?.items.length ? LIST_LIVE_MS : LIST_IDLE_MS),
    persister: unlessUnchanged,
  });

/** Throws ApiError. */
export function previewRedrive(request: PreviewRequest, signal?: AbortSignal): Promise<PreviewOut> {
  return fetchJson<PreviewOut>("/api/v1/redrives/preview", { method: "POST", body: request, signal, reads: true });
}

/**
 * Counted once a dialog: a number that changes while a person reads it cannot be confirmed. `of`: the number of selected
 * events; another number is counted anew.
 */
export function useRedrivePreview(request: PreviewRequest, enabled = true, of: number | null = null) {
  return useQuery({
    queryKey: [...keys.redrives.preview(request), of],
    queryFn: ({ signal }) => previewRedrive(request, signal),
    enabled,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

type NewRedrive = { request: RedriveRequest; idempotencyKey: string };

export async function requestRedrive(
  client: QueryClient,
  { request, idempotencyKey }: NewRedrive,
): Promise<RedriveAnswer> {
  try {
    return await fetchJson<RedriveAnswer>("/api/v1/redrives", {
      method: "POST",
      body: request,
      headers: { "idempotency-key": idempotencyKey },
    });
  } finally {
    // A dry run does not change its events: the list is read again after the run, so that no row disappears meanwhile.
    void invalidateAfter(client, request.mode === "verify" ? "dryRuns" : "redrives");
  }
}

export function useRequestRedrive() {
  const client = useQueryClient();
  return useMutation({ mutationFn: (redrive: NewRedrive) => requestRedrive(client, redrive) });
}

/** `underWay`: events whose send had not ended at the answer; null = the server could not read it. */
type RedriveChanged = RedriveOut & { underWay: number | null };

export async function changeRedrive(client: QueryClient, id: string, change: RedriveChange): Promise<RedriveChanged> {
  const changed = await fetchJson<RedriveChanged>(redrivePath(id), { method: "PATCH", body: change });
  const { underWay: _underWay, ...redrive } = changed;
  client.setQueryData(keys.redrives.detail(id), redrive);
  void invalidateAfter(client, "redrives");
  return changed;
}

export function useChangeRedrive(id: string) {
  const client = useQueryClient();
  return useMutation({ mutationFn: (change: RedriveChange) => changeRedrive(client, id, change) });
}

/** Redrives that were started in this browser: their progress and their end are shown on every page. */
export const followedRedrives = followedIds("parkade.followed-redrives");
