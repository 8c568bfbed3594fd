import { useCallback } from "react";
import { storedValue, useStoredValue } from "@/lib/platform/browser/stored-value.browser";

/** Redrives that were started in this browser and whose end is shown on every page; it outlives a reload. */
const FOLLOWED = storedValue("parkade.followed-redrives");
/** More are not shown: the oldest leaves. */
const FOLLOWED_MAX = 20;

function idsOf(text: string | null): string[] {
  return text === null || text === "" ? [] : text.split(",").filter((id) => /^[0-9a-f-]{36}$/.test(id));
}

/** Its progress and its end are shown on every page of this browser, until it is dismissed. */
export function followRedrive(id: string): void {
  const ids = idsOf(FOLLOWED.get()).filter((each) => each !== id);
  FOLLOWED.set([...ids, id].slice(-FOLLOWED_MAX).join(","));
}

export function unfollowRedrives(ids: readonly string[]): void {
  FOLLOWED.set(
    idsOf(FOLLOWED.get())
      .filter((id) => !ids.includes(id))
      .join(","),
  );
}

/** The last one started comes last. */
export function useFollowedRedrives(): string[] {
  return idsOf(useStoredValue(FOLLOWED));
}

const NOTIFY = storedValue("parkade.notify");

export type Notices = {
  /** `impossible`: this browser has no notifications; `denied`: it refuses them for this address. */
  state: "off" | "on" | "denied" | "impossible";
  /** Called by a click alone: a browser refuses who asks without one. */
  turn: (on: boolean) => Promise<void>;
};

/** Whether this browser shows a notification when a redrive ends or stands still. */
export function useNotices(): Notices {
  const stored = useStoredValue(NOTIFY);
  const turn = useCallback(async (on: boolean) => {
    if (!on || typeof Notification === "undefined") return NOTIFY.set(null);
    NOTIFY.set(await Notification.requestPermission());
  }, []);
  // During hydration nothing is stored yet, so both render "off".
  if (stored === null) return { state: typeof Notification === "undefined" ? "impossible" : "off", turn };
  if (typeof Notification === "undefined") return { state: "impossible", turn };
  const state = Notification.permission === "granted" ? "on" : Notification.permission === "denied" ? "denied" : "off";
  return { state, turn };
}

/** `tag`: the same in each tab, so that the browser shows one. */
export function notify({ title, body, tag, href }: { title: string; body: string; tag: string; href: string }): void {
  try {
    const notice = new Notification(title, { body, tag });
    notice.onclick = () => {
      window.focus();
      window.location.assign(href);
    };
  } catch {
    // Browsers of phones show notifications of a service worker alone. The page shows the same.
  }
}
