import { type UseQueryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { fetchJson } from "./fetch-json.browser";
import { useFirstRead } from "./first-reads.browser";
import { type Change, invalidateAfter, type Noun, readKey } from "./keys.browser";

type ReadOptions<Answer, Shown> = Omit<UseQueryOptions<Answer, ApiError, Shown>, "queryKey" | "queryFn"> & {
  /** The body of a POST that changes nothing, as of a preview; null reads nothing. */
  asks?: object | null;
  /** What tells this read from others of its noun and address, where it is not what it asks. */
  by?: unknown;
};

/** What an address answers; `path` null reads nothing. */
export function useRead<Answer, Shown = Answer>(
  noun: Noun,
  path: string | null,
  { asks, by = asks, enabled = true, ...options }: ReadOptions<Answer, Shown> = {},
) {
  const request = asks ? ({ method: "POST", body: asks, reads: true } as const) : {};
  const first = useFirstRead(asks === undefined ? path : null, (answer: Answer) => answer);
  return useQuery<Answer, ApiError, Shown>({
    ...first,
    ...options,
    queryKey: readKey(noun, path, by),
    queryFn: ({ signal }) => fetchJson<Answer>(path!, { ...request, signal }),
    enabled: path !== null && asks !== null && enabled,
  });
}

/**
 * A change. After it succeeded the visible data that it made stale is read again; the caller does not wait for it.
 * `refused`: also after a refusal, whose cause may be that another person changed what is shown.
 */
export function useChange<Input = void, Answer = unknown>(
  stale: Change,
  send: (input: Input) => Promise<Answer>,
  { refused = false } = {},
) {
  const client = useQueryClient();
  const readAgain = () => void invalidateAfter(client, stale);
  return useMutation<Answer, ApiError, Input>({
    mutationFn: send,
    ...(refused ? { onSettled: readAgain } : { onSuccess: readAgain }),
  });
}

/** The hooks that create, change and remove the things of one noun. `api`: the address of its list. */
export function resourceOf<Out, Creation, Patch = object>(api: string, stale: Change) {
  const pathOf = (id: string) => `${api}/${encodeURIComponent(id)}`;
  return {
    useCreate: () => useChange(stale, (body: Creation) => fetchJson<Out>(api, { method: "POST", body, once: true })),
    usePatch: (id: string) => useChange(stale, (body: Patch) => fetchJson<Out>(pathOf(id), { method: "PATCH", body })),
    /** Creates; of a stored one it changes all of it, unless it has another version by then. */
    useSave: (stored: { id: string; version: number } | null) =>
      useChange(stale, (body: Creation) =>
        stored === null
          ? fetchJson<Out>(api, { method: "POST", body, once: true })
          : fetchJson<Out>(pathOf(stored.id), { method: "PATCH", body: { ...body, version: stored.version } }),
      ),
    useRemove: () =>
      useChange(stale, ({ id, reason }: { id: string; reason?: string }) =>
        fetchJson<void>(pathOf(id), { method: "DELETE", body: reason === undefined ? undefined : { reason } }),
      ),
  };
}
