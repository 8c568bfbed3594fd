"use client";

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { mustType } from "@/components/events/bulk/bulk-words";
import { countedToast } from "@/components/events/bulk/say-changed";
import { NoArchive } from "@/components/keep/archive/no-archive";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import { ReadError } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { Skeleton } from "@/components/ui/skeleton";
import { StateBadge } from "@/components/ui/state-badge";
import { changeEvents } from "@/lib/events/bulk/bulk-operations.browser";
import { useRemovalPreview } from "@/lib/keep/removal/removal.browser";
import type { RemovalPreview } from "@/lib/keep/removal/removal.shapes";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatBytes, formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import { goAndStay, removalTitle, removalVerb, type StateCount, whyTheyStay } from "./removal-words";

/** Archives the settled events of a selection, with a reason. Large sets need their number typed. */
export function RemoveDialog(props: {
  selection: Selection;
  /** The number of selected events; null = unknown. */
  total: number | null;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { selection, total, onClose, onDone } = props;
  const client = useQueryClient();
  const preview = useRemovalPreview(selection);
  const [keyFor] = useState(() => idempotencyKeys(randomKey));
  const [typed, setTyped] = useState("");
  const { data } = preview;
  const possible = data === undefined || (data.place !== null && data.removable !== 0);
  const wanted = data && possible ? mustType(data.removable) : null;
  const agreed = wanted === null || typed.replaceAll(/[\s,.]/g, "") === wanted;
  return (
    <ReasonDialog
      needs="remove"
      title={removalTitle(data, total)}
      description={
        possible
          ? "Each event is written to the archive, then removed from the store. It can be restored unchanged."
          : undefined
      }
      size="sm"
      variant="danger"
      verb={possible ? removalVerb(data) : null}
      keep={possible ? "Cancel" : "Close"}
      reason={possible ? "required" : "none"}
      reasonHint="Recorded in the audit log."
      ready={(reason) => data !== undefined && reason !== "" && agreed}
      onClose={onClose}
      onSubmit={async (reason) => {
        const change = { kind: "remove" as const, select: pinSelection(selection, data?.cutoff ?? null), reason };
        const answer = await changeEvents(client, change, keyFor(change));
        onDone?.();
        return countedToast(client, "remove", answer, { selection, cutoff: data?.cutoff ?? null });
      }}
    >
      <ReadError read={preview} stale />
      {data ? <Previewed preview={data} /> : preview.isPending ? <PreviewSkeleton /> : null}
      {wanted === null || data === undefined ? null : (
        <TextField
          label={data.removable === null ? "Type all to confirm" : `Type ${formatNumber(data.removable)} to confirm`}
          value={typed}
          onValue={setTyped}
        />
      )}
    </ReasonDialog>
  );
}

function Previewed({ preview }: { preview: RemovalPreview }) {
  const { removable, bytes, place } = preview;
  if (place === null) return <NoArchive what="removed" />;
  const { go, stay } = goAndStay(preview);
  const why = whyTheyStay(stay);
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-3">
      <Fact name="Removed">
        {removable === null ? (
          <p>Those that are IGNORED or CONFIRMED. Counting them took too long.</p>
        ) : removable === 0 ? (
          <p>None: only events that are IGNORED or CONFIRMED are removed.</p>
        ) : (
          <>
            <Counts counts={go} />
            {bytes === null ? null : <p className="text-muted">{formatBytes(bytes)} of payloads</p>}
          </>
        )}
      </Fact>
      {stay.length === 0 ? null : (
        <Fact name="Not removed">
          <Counts counts={stay} />
          {why === null ? null : <p className="text-muted">{why}</p>}
        </Fact>
      )}
      <Fact name="Archive">
        <p className="font-mono text-sm leading-5 wrap-anywhere">{place}</p>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="grid gap-0.5">{children}</dd>
    </>
  );
}

function Counts({ counts }: { counts: readonly StateCount[] }) {
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  return (
    <p className="flex flex-wrap items-center gap-x-3">
      <span className="font-medium">{plural(all, "event")}</span>
      {counts.map(({ state, count }) => (
        <span key={state} className="inline-flex items-center gap-1.5 whitespace-nowrap">
          <StateBadge state={state} />
          {counts.length > 1 ? <span className="font-mono text-sm">{formatNumber(count)}</span> : null}
        </span>
      ))}
    </p>
  );
}

function PreviewSkeleton() {
  return (
    <div role="status" aria-label="Counting" className="grid gap-3 py-1">
      <Skeleton className="w-48" />
      <Skeleton className="w-32" />
      <Skeleton className="w-64" />
    </div>
  );
}
