import { causeWords } from "@/lib/guard/approvals/approval.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";

/** Says before the request that a second person must approve it, and why. */
export function ApprovalNotice({
  causes,
  done = "sent",
}: {
  causes: PreviewOut["approvalCauses"];
  done?: "sent" | "changed";
}) {
  if (causes === null)
    return (
      <p className="text-muted">
        Parkade could not determine in time whether a second person must approve this. It will be known when the set is
        frozen.
      </p>
    );
  if (causes.length === 0) return null;
  return (
    <p className="rounded-md border border-l-2 border-warning px-3 py-2 wrap-anywhere">
      A second person must approve it before anything is {done}: {causes.map(causeWords).join(", ")}.
    </p>
  );
}
