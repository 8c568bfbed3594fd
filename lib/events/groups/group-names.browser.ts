import { useQuery } from "@tanstack/react-query";
import type { GroupList } from "@/lib/events/events.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { toSearchParams, VALUES_MAX } from "@/lib/selection/filter/filter-params.shapes";

/** A list of redrives may name a group in each row: names asked for at once are one request. */
let batch: Promise<Map<string, string>> | null = null;
const asked = new Set<string>();

async function readAsked(): Promise<Map<string, string>> {
  await Promise.resolve();
  const fingerprints = [...asked];
  asked.clear();
  batch = null;
  const parts = Array.from({ length: Math.ceil(fingerprints.length / VALUES_MAX) }, (_, part) =>
    fingerprints.slice(part * VALUES_MAX, (part + 1) * VALUES_MAX),
  );
  const lists = await Promise.all(
    parts.map((fingerprint) =>
      fetchJson<GroupList>(`/api/v1/groups?limit=${VALUES_MAX}&${toSearchParams({ fingerprint })}`),
    ),
  );
  return new Map(lists.flatMap(({ items }) => items.map((group) => [group.fingerprint, groupName(group)])));
}

/** The sentence that stands for a group wherever it is named. */
export const groupName = ({ errorCode, pattern }: { errorCode: string; pattern: string }) =>
  pattern === "" ? errorCode : pattern;

/** The name to show; null = none is asked for. A group without events that this person sees has no name. */
export function useGroupName(fingerprint: string | null): string | null {
  const { data, isPending } = useQuery({
    queryKey: ["groups", "name", fingerprint],
    queryFn: async () => {
      asked.add(fingerprint!);
      batch ??= readAsked();
      return (await batch).get(fingerprint!) ?? null;
    },
    enabled: fingerprint !== null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (fingerprint === null) return null;
  return isPending ? "…" : (data ?? "without events");
}
