import { freshness } from "@/lib/browser/freshness";

/**
 * Code that is fetched after the page: dialogs, panels, toasts. It must exist when the network is gone, so it is fetched
 * as soon as the page has been painted; and a fetch that failed is repeated until it succeeds.
 */
type Load = () => Promise<unknown>;

const RETRY_MS = [500, 1_000, 2_000, 5_000];
/** While the server answers, code that still does not come is not there any more: another version was installed. */
const FAILURES_WHILE_ANSWERING = 3;

/** How a chunk that could not be fetched fails, in Chromium, Firefox and Safari. */
export function isChunkFailure(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === "ChunkLoadError" ||
      /dynamically imported module|Importing a module script failed/.test(error.message))
  );
}

/** Waits for a while, or until the browser finds its network again. */
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

/** Loads, again and again while nothing answers. Rejects when the code itself fails, or is not there any more. */
export async function loadChunk<Module>(load: () => Promise<Module>): Promise<Module> {
  let answering = 0;
  for (let tries = 0; ; tries += 1) {
    try {
      return await load();
    } catch (error) {
      if (!isChunkFailure(error)) throw error;
      if (freshness() === "fresh" && navigator.onLine) answering += 1;
      if (answering >= FAILURES_WHILE_ANSWERING) throw error;
      await untilWorthTrying(RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]!);
    }
  }
}

const later: Load[] = [];
let painted = false;
let running = false;

async function run(): Promise<void> {
  if (running) return;
  running = true;
  for (let load = later.shift(); load; load = later.shift()) {
    // Best effort: what does not come now comes when it is used.
    await load().catch(() => undefined);
  }
  running = false;
}

const whenIdle = (then: () => void) =>
  "requestIdleCallback" in window ? window.requestIdleCallback(then, { timeout: 3_000 }) : setTimeout(then, 1_000);

/** To be fetched once the page is painted and the browser has nothing better to do. */
export function loadAfterPaint(load: Load): void {
  if (typeof window === "undefined") return;
  later.push(load);
  if (painted) whenIdle(() => void run());
}

/** The first page is on the screen: what was asked for by then, and from now on, is fetched. */
export function startLoadingAfterPaint(): void {
  painted = true;
  whenIdle(() => void run());
}
