import type { ShapeName } from "@/components/ui/shape";
import type { ConsumerWord } from "@/lib/brokers/source-mode.pure";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { SourceOut } from "@/lib/sources/sources.shapes";

type StateLook = { word: string; shape: ShapeName; colour: string };

/** Workers report every two seconds, and a page asks a little later: after this time without a report nothing is known. */
const SILENT_MS = 20_000;

const LOOKS: Record<ConsumerWord, Omit<StateLook, "word">> = {
  running: { shape: "disc", colour: "text-ok" },
  connecting: { shape: "half", colour: "text-pending" },
  draining: { shape: "half", colour: "text-queued" },
  drained: { shape: "pause", colour: "text-muted" },
  paused: { shape: "pause", colour: "text-muted" },
  failing: { shape: "triangle", colour: "text-danger" },
  stopped: { shape: "square", colour: "text-muted" },
};

/**
 * The state of a source, as a word with its shape.
 *
 * @param reads false = nothing is read, its events come by the API
 * @param nowMs 0 while the clock is unknown
 */
export function sourceState(
  source: Pick<SourceOut, "mode" | "state"> & { events?: number },
  { reads, nowMs }: { reads: boolean; nowMs: number },
): StateLook {
  const { mode, state, events } = source;
  if (mode === "stopped") return { word: "STOPPED", ...LOOKS.stopped };
  if (!reads && events === 0) return { word: "NO EVENTS YET", shape: "ring", colour: "text-muted" };
  if (!reads) return { word: "READY", shape: "disc", colour: "text-ok" };
  if (state === null) return { word: "NO REPORT", shape: "ring", colour: "text-pending" };
  const isDraining = mode === "draining" && (state.state === "failing" || state.state === "connecting");
  const word = `${state.state}${isDraining ? ", draining" : ""}`.toUpperCase();
  if (isSilent(state, nowMs)) return { word: `${word}, SILENT`, shape: "ring", colour: "text-pending" };
  // Workers learn of another mode within two seconds.
  if (mode === "paused" && state.state !== "paused" && state.state !== "drained")
    return { word: "PAUSING", shape: "half", colour: "text-pending" };
  return { word, ...LOOKS[state.state] };
}

/**
 * Sources that fail first, then those that nobody reports on or whose workers paused by themselves, then those that an
 * operator paused or stopped, then the rest; each part in the order given.
 */
export function neediestFirst<Source extends Parameters<typeof sourceState>[0]>(
  sources: readonly Source[],
  nowMs: number,
  reads: (source: Source) => boolean,
): Source[] {
  const rank = (source: Source) => {
    const { colour } = sourceState(source, { reads: reads(source), nowMs });
    if (colour === LOOKS.failing.colour) return 0;
    if (source.mode === "paused" || source.mode === "stopped") return 2;
    return colour === LOOKS.connecting.colour || source.state?.state === "paused" ? 1 : 3;
  };
  return sources.toSorted((a, b) => rank(a) - rank(b));
}

export function isSilent({ at }: { at: string }, nowMs: number): boolean {
  return nowMs > 0 && nowMs - Date.parse(at) > SILENT_MS;
}

/** When a failing source is tried again: `tries again in 12 s`; null when nothing waits. */
export function retryWords(retryAt: string | null | undefined, nowMs: number): string | null {
  if (!retryAt || nowMs === 0) return null;
  const leftMs = Date.parse(retryAt) - nowMs;
  return leftMs < 1_000 ? "retrying now" : `retrying in ${formatDuration(leftMs)}`;
}

/** Since when, by whom and why a source is not read; null while it runs by itself. */
export function modeWords(source: Pick<SourceOut, "mode" | "modeBy" | "modeReason">): string | null {
  const { mode, modeBy, modeReason } = source;
  if (mode === "running" || modeBy === null) return null;
  return `${mode} by ${modeBy}${modeReason === null ? "" : `: ${modeReason}`}`;
}
