declare global {
  /** Keys that were pressed before the scripts of the page ran; null once these take them themselves. */
  var earlyKeys: string[] | null | undefined;
}

/**
 * Runs in <head> before any other script. Until the scripts of the page run, `/` puts the focus into the search box, where the browser
 * itself takes what is typed; otherwise those letters would be lost or run as commands later. Enter in the box and letters outside
 * of fields are kept.
 */
export const EARLY_KEYS = `self.earlyKeys=[];addEventListener("keydown",function l(e){var k=self.earlyKeys,t=e.target,b=document.querySelector("[data-search]");if(!k)return removeEventListener("keydown",l,true);if(e.ctrlKey||e.metaKey||e.altKey||e.isComposing)return;if(b&&t===b){if(e.key==="Enter"){e.preventDefault();k.push("Enter")}}else if(t.closest&&t.closest("input,textarea,select"))return;else if(e.key==="/"&&b){e.preventDefault();b.focus()}else if(e.key.length===1)k.push(e.key)},true);`;

/** The kept keys, once: from now on the page takes keys itself. */
export function takeEarlyKeys(): string[] {
  const kept = globalThis.earlyKeys ?? [];
  globalThis.earlyKeys = null;
  return kept;
}
