"use client";

import { useStaleReason } from "@/lib/browser/freshness";
import { Button, type ButtonProps } from "./button";

/**
 * A button that changes something. While what the screen shows is old it does nothing, and its tooltip says why. Not for
 * what stops a redrive or a target: that may be tried at any time.
 */
export function ActionButton({ onClick, className, "data-tip": tip, ...rest }: ButtonProps & { "data-tip"?: string }) {
  const stale = useStaleReason();
  return (
    <Button
      {...rest}
      // Not `disabled`: a button that the pointer and the focus pass by cannot say why.
      aria-disabled={stale !== null || rest["aria-disabled"]}
      data-tip={stale ?? tip}
      className={stale === null ? className : `aria-disabled:pointer-events-auto ${className ?? ""}`}
      onClick={(event) => {
        if (stale === null) onClick?.(event);
        else event.preventDefault();
      }}
    />
  );
}
