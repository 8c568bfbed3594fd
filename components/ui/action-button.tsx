"use client";

import { useRefusal } from "@/lib/guard/viewer/me.browser";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import { useStaleReason } from "@/lib/platform/browser/freshness.browser";
import { Button, type ButtonProps } from "./button";

/**
 * A button that changes something. While the data on the screen is old it does nothing, and its tooltip gives the
 * reason. Stopping a redrive or a target is always allowed: see `stops`.
 */
export function ActionButton(
  props: Omit<ButtonProps, "needs"> & {
    /** What whoever presses it must be allowed; null = everybody may. */
    needs: Needs | null;
    "data-tip"?: string;
    /** Why it can do nothing now, for its tooltip; null = it can. */
    refusal?: string | null;
    /** The action stops something, which is allowed on old data. The same button may start it again later. */
    stops?: boolean;
  },
) {
  const { onClick, className, "data-tip": tip, refusal = null, stops = false, needs, everySource, ...rest } = props;
  const missing = useRefusal(needs ?? undefined, everySource);
  const stale = useStaleReason();
  const why = missing ?? (stops ? null : stale) ?? refusal;
  return (
    <Button
      {...rest}
      // Not `disabled`: the pointer and the focus skip a disabled button, so it cannot show the reason.
      aria-disabled={why !== null || rest["aria-disabled"]}
      data-tip={why ?? tip}
      className={why === null ? className : `aria-disabled:pointer-events-auto ${className ?? ""}`}
      onClick={(event) => {
        if (why === null) onClick?.(event);
        else event.preventDefault();
      }}
    />
  );
}
