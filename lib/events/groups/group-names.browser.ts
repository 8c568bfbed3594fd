import { useQuery } from "@tanstack/react-query";
import type { GroupList } from "@/lib/events/events.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { toSearchParams } from "@/lib/selection/filter/filter-params.shapes";

/** A list of redrives may name a group in each row: names asked for at once are one request. */
let batch: Promise<Map<string, string>> | null = null;
const asked = new Set<string>();

async function readAsked(): Promise<Map<string, string>> {
  await Promise.resolve();
  const fingerprint = [...asked];
  asked.clear();
  batch = null;
  const query = `limit=${fingerprint.length}&${toSearchParams({ fingerprint })}`;
  const { items } = await fetchJson<GroupList>(`/api/v1/groups?${query}`);
  return new Map(items.map((group) => [group.fingerprint, groupName(group)]));
}

/** The sentence that stands for a group wherever it is named. */
export const groupName = ({ errorCode, pattern }: { errorCode: string; pattern: string }) =>
  pattern === "" ? errorCode : pattern;

/** null = not known yet, or no event of it is left. */
export function useGroupName(fingerprint: string | null): string | null {
  const { data } = useQuery({
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
  return data ?? null;
}
