declare global {
  /** Keys that were pressed before the scripts of the page ran; null once these take them themselves. */
  var earlyKeys: string[] | null | undefined;
}

/**
 * Runs in <head> before any other script. Until the search box runs (`data-live`), `/` puts the focus into it, where the browser itself
 * takes what is typed; otherwise those letters would be lost or run as commands later. Enter in it marks it (`data-entered`) instead
 * of sending the form. Letters outside of fields are kept.
 */
export const EARLY_KEYS = `self.earlyKeys=[];addEventListener("keydown",function(e){var t=e.target,b=document.querySelector("[data-search]");if(e.ctrlKey||e.metaKey||e.altKey||e.isComposing)return;if(b&&t===b){if(e.key==="Enter"&&!b.dataset.live){e.preventDefault();b.dataset.entered="1"}}else if(t.closest&&t.closest("input,textarea,select"))return;else if(e.key==="/"&&b&&!b.dataset.live){e.preventDefault();b.focus()}else if(self.earlyKeys&&e.key.length===1)self.earlyKeys.push(e.key)},true);`;

/** The kept keys, once: from now on the page takes keys itself. */
export function takeEarlyKeys(): string[] {
  const kept = globalThis.earlyKeys ?? [];
  globalThis.earlyKeys = null;
  return kept;
}
