import type { ShapeName } from "@/components/ui/shape";
import type { SourceOut } from "@/lib/contract/sources";

export type StateLook = { word: string; shape: ShapeName; colour: string };

/** The state of a consumer that has not reported for this long is unknown. */
const STALE_MS = 60_000;

const LOOKS: Record<string, Omit<StateLook, "word">> = {
  running: { shape: "disc", colour: "text-ok" },
  connecting: { shape: "half", colour: "text-pending" },
  failing: { shape: "triangle", colour: "text-danger" },
  stopped: { shape: "square", colour: "text-muted" },
};

/**
 * The state of a source, as a word with its shape. An HTTP source has no consumer that could fail.
 *
 * @param nowMs 0 while the clock is unknown
 */
export function sourceState(source: Pick<SourceOut, "enabled" | "kind" | "state">, nowMs: number): StateLook {
  if (!source.enabled) return { word: "OFF", shape: "pause", colour: "text-muted" };
  if (source.kind === "http" && source.state === null) return { word: "READY", shape: "disc", colour: "text-ok" };
  if (source.state === null) return { word: "NOT SEEN", shape: "ring", colour: "text-pending" };
  const word = source.state.state.toUpperCase();
  if (nowMs > 0 && nowMs - Date.parse(source.state.at) > STALE_MS)
    return { word: `${word}, SILENT`, shape: "ring", colour: "text-pending" };
  const look = LOOKS[source.state.state];
  if (look) return { word, ...look };
  return { word, shape: "ring", colour: source.state.lastError === null ? "text-muted" : "text-danger" };
}
