"use client";

import { useRefusal } from "@/lib/guard/viewer/me.browser";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import { Button, type ButtonProps } from "./button";

/** A button for what not everybody may do. Without the right it stays in reach of pointer and keyboard, and says why. */
export function GuardedButton(
  props: Omit<ButtonProps, "needs"> & { needs: Needs; everySource?: boolean | undefined; "data-tip"?: string },
) {
  const { needs, everySource, onClick, className, type, ...rest } = props;
  const refusal = useRefusal(needs, everySource);
  if (refusal === null) return <Button type={type} onClick={onClick} className={className} {...rest} />;
  return (
    <Button
      {...rest}
      type="button"
      // Not `disabled`: the pointer and the focus skip a disabled button, so it cannot show the reason.
      aria-disabled
      data-tip={refusal}
      className={`aria-disabled:pointer-events-auto ${className ?? ""}`}
      onClick={(event) => event.preventDefault()}
    />
  );
}
