import { classNames } from "@/components/ui/class-names";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import { leftAlone, shareWords } from "./bulk-words";

type Counts = Pick<BulkOperationOut, "kind" | "state" | "changed" | "refused" | "refusedByReason" | "expected"> &
  Pick<BulkOperationOut, "ratePerSecond" | "etaMs" | "approval">;

export function OperationBar({ operation, className }: { operation: Counts; className?: string }) {
  const whole = Math.max(operation.expected.value, operation.changed + operation.refused, 1);
  const left = leftAlone(operation.refusedByReason);
  return (
    <div
      role="img"
      data-bar
      aria-label={`${shareWords(operation)} finished: ${operation.changed} changed, ${operation.refused} not changed`}
      className={classNames("flex h-2 gap-px overflow-hidden rounded-sm bg-line", className)}
    >
      <div className="bg-queued" style={{ width: `${(operation.changed / whole) * 100}%` }} />
      {operation.refused === 0 ? null : (
        <div
          className="bg-ignored"
          style={{ width: `${(operation.refused / whole) * 100}%` }}
          data-tip={`Not changed: ${left}`}
        />
      )}
    </div>
  );
}
