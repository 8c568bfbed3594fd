"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { useRedrivePreview } from "@/lib/browser/redrives";
import type { RedriveOut } from "@/lib/contract/redrives";
import { formatNumber, plural } from "@/lib/core/format";
import { redriveAtOnce } from "./one-click";
import { refusalSummary } from "./refusal-words";

const RedriveDialog = lazily(() => import("./redrive-dialog").then(({ RedriveDialog }) => RedriveDialog));

/** Of a dry run that is over: one click redrives what passed it, and it says what has changed since. */
export function RedrivePassed({ redrive }: { redrive: RedriveOut }) {
  const client = useQueryClient();
  const router = useRouter();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const selection = { redrive: redrive.id, outcome: ["passed" as const] };
  const preview = useRedrivePreview({ select: selection, mode: "deliver", lane: redrive.lane, sample: false });
  const eligible = preview.data?.eligible ?? null;
  const send = async () => {
    setBusy(true);
    await redriveAtOnce(client, selection, { open: (href) => router.push(href), onAsk: () => setAsking(true) });
    setBusy(false);
  };
  const changed = preview.data?.changedSince ?? 0;
  const refused = preview.data ? refusalSummary(preview.data.refused) : "";
  return (
    <Panel title="What passed" bodyClassName="grid gap-2 p-3">
      <ReadError read={preview} />
      <p>
        {plural(redrive.passed, "event")} passed every check
        {refused === "" ? "." : `; refused now: ${refused}.`}
      </p>
      {changed > 0 ? (
        <p className="text-warning">
          {changed === 1 ? "1 of them has" : `${formatNumber(changed)} of them have`} other bytes now than this dry run
          checked.
        </p>
      ) : null}
      <div className="flex flex-wrap gap-2">
        <ActionButton
          variant="primary"
          disabled={eligible === 0}
          busy={busy}
          data-tip="Slow lane, canary above ten events, brake; sent after 5 s, with Undo until then"
          onClick={() => void send()}
        >
          Redrive {eligible === null ? "what passed" : plural(eligible, "event")}
        </ActionButton>
        <ActionButton disabled={eligible === 0} onClick={() => setAsking(true)}>
          Redrive…
        </ActionButton>
      </div>
      {asking ? <RedriveDialog selection={selection} total={eligible} onClose={() => setAsking(false)} /> : null}
    </Panel>
  );
}
