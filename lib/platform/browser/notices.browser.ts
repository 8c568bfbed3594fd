import { useCallback } from "react";
import { storedValue, useStoredValue } from "@/lib/platform/browser/stored-value.browser";

const NOTIFY = storedValue("parkade.notify");

export type Notices = {
  /** `impossible`: this browser has no notifications; `denied`: it refuses them for this address. */
  state: "off" | "on" | "denied" | "impossible";
  /** Called by a click alone: a browser refuses who asks without one. */
  turn: (on: boolean) => Promise<void>;
};

/** Whether this browser shows a notification when what was started in it ends or stands still. */
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
