import { type QueryClient, skipToken, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { BulkAnswer, EventDetail } from "@/lib/events/events.shapes";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter, keys } from "@/lib/platform/browser/keys.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";
import type { MendOutcome } from "@/lib/repair/mends/mending.pure";
import type {
  MendCounts,
  MendItem,
  MendPage,
  MendRequest,
  RecipeList,
  SavedRecipe,
  SaveRecipeRequest,
} from "@/lib/repair/recipes/recipes.shapes";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";

const PAGE = 20;

/** What the recipe does to each selected event, page by page; of one outcome, or of all. */
export function useMendPreview(select: Selection, recipe: Recipe | null, outcome: MendOutcome | null) {
  return useInfiniteQuery({
    queryKey: keys.mend.preview({ select, recipe, outcome }),
    queryFn:
      recipe === null
        ? skipToken
        : ({ signal, pageParam }) =>
            preview(
              { select, recipe, limit: PAGE, ...cursorOf(pageParam), ...(outcome === null ? {} : { outcome }) },
              signal,
            ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    retry: false,
  });
}

const cursorOf = (cursor: string | null) => (cursor === null ? {} : { cursor });

function preview(body: object, signal: AbortSignal): Promise<MendPage> {
  return fetchJson<MendPage>("/api/v1/events/mend/preview", { method: "POST", body, signal, reads: true });
}

/** What the recipe does to a few named events, while it is written. */
export function useMendOf(ids: readonly string[], recipe: Recipe | null) {
  return useQuery<MendItem[], ApiError>({
    queryKey: keys.mend.preview({ ids, recipe }),
    queryFn:
      recipe === null || ids.length === 0
        ? skipToken
        : async ({ signal }) => (await preview({ select: { ids }, recipe, limit: ids.length }, signal)).items,
    // The differences of the recipe before the last key press are better than a list that comes and goes.
    placeholderData: (before) => before,
    retry: false,
  });
}

/** Changes nothing: the pages of its preview name the selected events. */
const NO_CHANGE: Recipe = {
  kind: "form",
  steps: [{ op: "remove", at: "header:x", when: { at: "header:x", exists: false } }],
};
const SAMPLES = 3;

/** Some of the selected events, whose payloads show which places there are. */
export function useMendSamples(select: Selection) {
  return useQuery<EventDetail[], ApiError>({
    queryKey: keys.mend.preview({ samples: select }),
    queryFn: async ({ signal }) => {
      const { items } = await preview({ select, recipe: NO_CHANGE, limit: SAMPLES }, signal);
      return Promise.all(items.map(({ id }) => fetchJson<EventDetail>(`/api/v1/events/${id}`, { signal })));
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

export type Counting = { counts: MendCounts | null; error: unknown };
const SAMPLES_KEPT = 30;

/** Applies the recipe to all selected events, a second's work a call, and adds up what it would do. Stores nothing. */
export function useMendCounts(select: Selection, recipe: Recipe): Counting {
  const [state, setState] = useState<Counting>({ counts: null, error: null });
  const asked = JSON.stringify({ select, recipe });
  useEffect(() => {
    const abort = new AbortController();
    setState({ counts: null, error: null });
    void countAll(JSON.parse(asked), abort.signal, (counts) =>
      setState(({ counts: before }) => ({
        counts: { ...counts, samples: [...(before?.samples ?? []), ...counts.samples].slice(0, SAMPLES_KEPT) },
        error: null,
      })),
    ).catch((error: unknown) => {
      if (!abort.signal.aborted) setState(({ counts }) => ({ counts, error }));
    });
    return () => abort.abort();
  }, [asked]);
  return state;
}

async function countAll(asked: object, signal: AbortSignal, say: (counts: MendCounts) => void): Promise<void> {
  let cursor: string | null = null;
  do {
    const body = { ...asked, ...cursorOf(cursor) };
    const counts: MendCounts = await fetchJson<MendCounts>("/api/v1/events/mend/count", {
      method: "POST",
      body,
      signal,
      reads: true,
    });
    if (signal.aborted) return;
    say(counts);
    cursor = counts.nextCursor;
  } while (cursor !== null);
}

/** Starts the mend of the selected events. Its answer names the bulk operation. */
export async function startMend(client: QueryClient, body: MendRequest, idempotencyKey: string): Promise<BulkAnswer> {
  const headers = { "idempotency-key": idempotencyKey };
  const answer = await fetchJson<BulkAnswer>("/api/v1/events/mend", { method: "POST", body, headers });
  await invalidateAfter(client, "events");
  return answer;
}

export const useRecipes = () => useRead<RecipeList>("recipes", "/api/v1/recipes");

export function useChangeRecipes() {
  const client = useQueryClient();
  const read = () => client.invalidateQueries({ queryKey: ["recipes"] });
  return {
    save: async (body: SaveRecipeRequest) => {
      const saved = await fetchJson<SavedRecipe>("/api/v1/recipes", { method: "POST", body, once: true });
      await read();
      return saved;
    },
    remove: async ({ id }: SavedRecipe) => {
      await fetchJson(`/api/v1/recipes/${id}`, { method: "DELETE" });
      await read();
    },
  };
}
