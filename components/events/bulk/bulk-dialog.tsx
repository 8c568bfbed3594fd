"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { TellField } from "@/components/redrive/channel-choice";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { changeEvents } from "@/lib/events/bulk/bulk-operations.browser";
import { BULK_ACTION } from "@/lib/guard/viewer/bulk-action.pure";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";
import type { BulkKind, Removal } from "@/lib/states/bulk-operation.pure";
import { mustType, VERBS } from "./bulk-words";
import { countedToast } from "./say-changed";

/** A removal has a dialog of its own, with a preview. */
type Kind = Exclude<BulkKind, Removal>;

/** Ignores, releases or confirms events, with a reason. For a large set the person types its number. */
export function BulkDialog(props: {
  kind: Kind;
  selection: Selection;
  /** The number of selected events; null = unknown. */
  total: number | null;
  /** The moment of a count; null = the events are named, or not counted. */
  asOf?: string | null;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { kind, selection, onClose, onDone } = props;
  const { total, asOf } = useFirstCount(props.total, props.asOf ?? null);
  const client = useQueryClient();
  const [keyFor] = useState(() => idempotencyKeys(randomKey));
  const [typed, setTyped] = useState("");
  const [tell, setTell] = useState<string[]>([]);
  const words = `${VERBS[kind].verb} ${total === null ? "all matching events" : plural(total, "event")}`;
  const wanted = mustType(total);
  return (
    <ReasonDialog
      needs={BULK_ACTION[kind]}
      title={words}
      description={CONSEQUENCE[kind][total === 1 ? "one" : "many"]}
      size="sm"
      verb={words}
      reasonHint="Recorded in the audit log."
      ready={(reason) => reason !== "" && (wanted === null || typed.replaceAll(/[\s,.]/g, "") === wanted)}
      onClose={onClose}
      onSubmit={async (reason) => {
        const select = pinSelection(selection, asOf);
        const change = { kind, select, reason, ...(tell.length > 0 ? { tell } : {}) };
        const answer = await changeEvents(client, change, keyFor(change));
        onDone?.();
        return countedToast(client, kind, answer, { selection, cutoff: asOf });
      }}
    >
      {wanted === null ? null : (
        <>
          {TELLS.includes(kind) ? <TellField tell={tell} onTell={setTell} /> : null}
          <TextField
            label={total === null ? "Type all to confirm" : `Type ${formatNumber(total)} to confirm`}
            value={typed}
            onValue={setTyped}
          />
        </>
      )}
    </ReasonDialog>
  );
}

/** The first count stays: people confirm the number that they read, not the current one of the list behind the dialog. */
function useFirstCount(total: number | null, asOf: string | null) {
  const [first, setFirst] = useState({ total, asOf });
  if (first.total === null && total !== null) setFirst({ total, asOf });
  return first;
}

/** A confirmation by hand is short, and tells nobody. */
const TELLS: readonly Kind[] = ["ignore", "release"];

const CONSEQUENCE: Record<Kind, { one: string; many: string }> = {
  ignore: {
    one: "It stays in the list as IGNORED and is not redriven until somebody releases it.",
    many: "They stay in the list as IGNORED and are not redriven until somebody releases them.",
  },
  release: {
    one: "It becomes PENDING again and can be redriven.",
    many: "They become PENDING again and can be redriven.",
  },
  confirm: {
    one: "Confirm that its consumer has processed it: it becomes CONFIRMED and is not sent again. This cannot be undone.",
    many: "Confirm that their consumers have processed them: they become CONFIRMED and are not sent again. This cannot be undone.",
  },
  mend: { one: "It gets a new revision.", many: "Each gets a new revision." },
  "undo-mend": {
    one: "Its revision from before the mend becomes current again.",
    many: "Their revisions from before the mend become current again.",
  },
};
