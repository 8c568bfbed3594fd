import { freshness } from "@/lib/platform/browser/freshness.browser";

/**
 * Loads the code of dialogs, panels and toasts after the page. It must be present when the network is gone, so it is
 * fetched at the first move, press or key on a page, and a failed fetch is repeated until it succeeds. A page that is only
 * looked at, on a wall or in a forgotten tab, does not fetch it.
 */
type Load = () => Promise<unknown>;

const RETRY_MS = [500, 1_000, 2_000, 5_000];
/** While the server answers, code that still cannot be fetched no longer exists: another version was installed. */
const FAILURES_WHILE_ANSWERING = 3;

/** At most one automatic reload in this time: a page that always fails must not reload endlessly. */
const RELOAD_AGAIN_MS = 60_000;
const RELOADED_AT = "parkade.reloadedAtMs";

export function mayReload(): boolean {
  try {
    const before = Number(window.sessionStorage.getItem(RELOADED_AT) ?? 0);
    if (Date.now() - before < RELOAD_AGAIN_MS) return false;
    window.sessionStorage.setItem(RELOADED_AT, String(Date.now()));
    return true;
  } catch {
    // Without storage nothing would limit the reloads.
    return false;
  }
}

/** The messages of a failed chunk fetch in Chromium, Firefox and Safari. */
export function isChunkFailure(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === "ChunkLoadError" ||
      /dynamically imported module|Importing a module script failed/.test(error.message))
  );
}

/** Waits, at most until the browser is online again. */
function untilWorthTrying(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
  });
}

/**
 * Retries a load while the server does not answer. Rejects when the code itself fails or no longer exists, and reloads the page:
 * otherwise a click would have no visible effect.
 */
export async function loadChunk<Module>(load: () => Promise<Module>): Promise<Module> {
  let answering = 0;
  for (let tries = 0; ; tries += 1) {
    try {
      return await load();
    } catch (error) {
      if (!isChunkFailure(error)) throw error;
      if (freshness() === "fresh" && navigator.onLine) answering += 1;
      if (answering >= FAILURES_WHILE_ANSWERING) {
        if (mayReload()) window.location.reload();
        throw error;
      }
      await untilWorthTrying(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]!);
    }
  }
}

const later: Load[] = [];
let touched = false;
let running = false;

/** `data-code` of the document is "loading" until all registered code was fetched, then "loaded". */
function sayCode(state: "loading" | "loaded"): void {
  document.documentElement.dataset.code = state;
}

async function run(): Promise<void> {
  if (running) return;
  running = true;
  for (let load = later.shift(); load; load = later.shift()) {
    // A failed load is repeated when the code is used.
    await load().catch(() => undefined);
  }
  running = false;
  sayCode("loaded");
}

const whenIdle = (then: () => void) =>
  "requestIdleCallback" in window ? window.requestIdleCallback(then, { timeout: 3_000 }) : setTimeout(then, 1_000);

/** Fetches code once the page was touched and the browser is idle. */
export function loadAtTouch(load: Load): void {
  if (typeof window === "undefined") return;
  later.push(load);
  sayCode("loading");
  if (touched) whenIdle(() => void run());
}

const FIRST_TOUCH = ["pointermove", "pointerdown", "keydown"];

/** Called after the first paint: starts every registered load at the first touch, and later loads at once. */
export function loadWhenTouched(): () => void {
  const waiting = new AbortController();
  const start = () => {
    waiting.abort();
    touched = true;
    whenIdle(() => void run());
  };
  for (const type of FIRST_TOUCH) window.addEventListener(type, start, { signal: waiting.signal, passive: true });
  return () => waiting.abort();
}
