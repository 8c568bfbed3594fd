import type { ReactNode } from "react";
import { classNames } from "@/components/ui/class-names";

/** Label at the left, control at the right; on a phone one above the other. */
export function LabelledRow({
  label,
  tall,
  children,
}: {
  label: ReactNode;
  /** The first line is as high as an input, not as text. */
  tall?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[5.5rem_1fr]">
      <div className={classNames("text-sm font-medium text-muted", tall ? "sm:leading-7" : "sm:leading-5")}>
        {label}
      </div>
      <div className="min-w-0">{children}</div>
    </div>
  );
}
