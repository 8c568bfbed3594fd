"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { ApprovalNotice } from "@/components/guard/approvals/approval-notice";
import { needsApproval } from "@/components/redrive/dialog/redrive-draft";
import { redriveAtOnce } from "@/components/redrive/one-click/one-click";
import { refusalSummary } from "@/components/redrive/refusal-words";
import { ActionButton } from "@/components/ui/action-button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { plural } from "@/lib/platform/plain/format.pure";
import { useRedrivePreview } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");

/** Of a dry run that is over: what passed it is redriven. */
export function RedrivePassed({ redrive }: { redrive: RedriveOut }) {
  return (
    <Panel title="Events that passed" bodyClassName="grid gap-2 p-3">
      <SendPassed redrive={redrive} />
    </Panel>
  );
}

/** One click redrives what passed the dry run; it says what has changed since. */
export function SendPassed(props: {
  redrive: RedriveOut;
  onSent?: (redriveId: string) => void;
  /** It was undone during its hold. */
  onUndone?: () => void;
}) {
  const { redrive, onSent, onUndone } = props;
  const client = useQueryClient();
  const router = useRouter();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const selection = { redrive: redrive.id, outcome: ["passed" as const] };
  const preview = useRedrivePreview({ select: selection, mode: "deliver", lane: "slow", sample: false });
  const eligible = preview.data?.eligible ?? null;
  const send = async () => {
    setBusy(true);
    const open = (href: string) => router.push(href);
    const sent = await redriveAtOnce(client, selection, eligible, { open, onAsk: () => setAsking(true), onUndone });
    setBusy(false);
    if (sent) onSent?.(sent.id);
  };
  const refused = preview.data ? refusalSummary(preview.data.refused) : "";
  return (
    <>
      <ReadError read={preview} />
      <p>
        {plural(redrive.passed, "event")} passed every check
        {refused === "" ? "." : `; refused now: ${refused}.`}
      </p>
      {preview.data && eligible !== 0 ? <ApprovalNotice causes={preview.data.approvalCauses} /> : null}
      <div className="flex flex-wrap gap-2">
        <ActionButton
          needs="redrive"
          variant="primary"
          disabled={eligible === 0}
          busy={busy}
          data-tip="Uses the slow lane, a brake and, above ten events, a canary. Sent after 5 s; you can undo it until then."
          onClick={() => void send()}
        >
          {preview.data && needsApproval(preview.data) ? "Request approval for" : "Redrive"}{" "}
          {eligible === null ? "events that passed" : plural(eligible, "event")}
        </ActionButton>
        <ActionButton needs="redrive" disabled={eligible === 0} onClick={() => setAsking(true)}>
          Redrive…
        </ActionButton>
      </div>
      {asking ? (
        <RedriveDialog
          selection={selection}
          total={eligible}
          onClose={() => setAsking(false)}
          onDone={({ id }) => onSent?.(id)}
          onUndone={onUndone}
        />
      ) : null}
    </>
  );
}
