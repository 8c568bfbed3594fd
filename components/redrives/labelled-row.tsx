import type { ReactNode } from "react";

/** Label at the left, control at the right; on a phone one above the other. */
export function LabelledRow({ label, children }: { label: ReactNode; children: ReactNode }) {
  return (
    <div className="grid gap-x-4 gap-y-1 sm:grid-cols-[5.5rem_1fr] sm:items-baseline">
      <div className="text-sm font-medium text-muted">{label}</div>
      <div className="min-w-0">{children}</div>
    </div>
  );
}
