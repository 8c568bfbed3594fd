import type { SliceTarget } from "@/lib/redrive/targets/target";

/** The ends of the work on a slice: `halt` of its waits, `sends` of the sends under way, too. */
export type SliceSignals = {
  halt: AbortSignal;
  sends: AbortSignal;
  /** Ends the waits for one target: with the slice, or when a person stops that target. */
  haltAt(target: Pick<SliceTarget, "stopped">): AbortSignal;
};

/** One signal for each target of the slice: a signal for each send would cost more than the send's other waits. */
export function sliceSignals(halt: AbortSignal, sends: AbortSignal): SliceSignals {
  const known = new WeakMap<AbortSignal, AbortSignal>();
  const haltAt: SliceSignals["haltAt"] = ({ stopped }) => {
    const either = known.get(stopped) ?? AbortSignal.any([halt, stopped]);
    known.set(stopped, either);
    return either;
  };
  return { halt, sends, haltAt };
}
