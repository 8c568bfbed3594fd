import { storedValue, useStoredValue } from "@/lib/platform/browser/stored-value.browser";

/** More are not shown: the oldest leaves. */
const FOLLOWED_MAX = 20;

/** Ids of work that was started in this browser and whose end is to be shown on every page; they outlive a reload. */
export type Followed = {
  follow: (id: string) => void;
  unfollow: (ids: readonly string[]) => void;
  /** The last one started comes last. */
  useIds: () => string[];
};

export function followedIds(key: string): Followed {
  const stored = storedValue(key);
  const set = (ids: readonly string[]) => stored.set(ids.slice(-FOLLOWED_MAX).join(","));
  const others = (ids: readonly string[]) => idsOf(stored.get()).filter((id) => !ids.includes(id));
  return {
    follow: (id) => set([...others([id]), id]),
    unfollow: (ids) => set(others(ids)),
    useIds: () => idsOf(useStoredValue(stored)),
  };
}

function idsOf(text: string | null): string[] {
  return text === null || text === "" ? [] : text.split(",").filter((id) => /^[0-9a-f-]{36}$/.test(id));
}
