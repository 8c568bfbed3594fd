"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { mustType } from "@/components/events/bulk/bulk-words";
import { countedToast } from "@/components/events/bulk/say-changed";
import { idempotencyKeys } from "@/components/redrive/idempotency-keys";
import { TextField, Tick } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { changeEvents } from "@/lib/events/bulk/bulk-operations.browser";
import type { CountOut, GroupOut } from "@/lib/events/events.shapes";
import { useMuteGroups } from "@/lib/events/groups/groups.browser";
import { useMatches } from "@/lib/order/controls/controls.browser";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, plural, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";
import { groupFilter } from "./group-filter";
import { type MuteDraft, muteTerms } from "./mute-until";

const TIMES = [
  { value: "", label: "do not mute" },
  { value: "1h", label: "for 1 h" },
  { value: "4h", label: "for 4 h" },
  { value: "8h", label: "for 8 h" },
  { value: "24h", label: "for 1 d" },
  { value: "72h", label: "for 3 d" },
  { value: "168h", label: "for 7 d" },
  { value: "at", label: "until a time…" },
];

/** Mutes groups until a time or until so many more arrive, or ignores their parked events, or both. */
export function MuteGroupDialog(props: {
  groups: readonly GroupOut[];
  filter: EventFilter;
  onClose: () => void;
  onDone?: () => void;
}) {
  const { groups, filter, onClose, onDone } = props;
  const client = useQueryClient();
  const mute = useMuteGroups();
  const now = useNow();
  const [keyFor] = useState(() => idempotencyKeys(randomKey));
  const ignored = groupFilter(filter, groups, "PENDING");
  // Fixed here: the list behind the dialog keeps counting.
  const [counted, setCounted] = useState<CountOut | null>(null);
  const { data } = useMatches(ignored, counted === null);
  if (counted === null && data && data.total.value !== null) setCounted(data.total);
  const pending = counted?.value ?? groups.reduce((sum, { counts }) => sum + counts.PENDING, 0);
  const queued = groups.reduce((sum, { counts }) => sum + counts.QUEUED, 0);
  const [events, setEvents] = useState(false);
  const [draft, setDraft] = useState<MuteDraft>({ time: "8h", at: "", more: "" });
  const [typed, setTyped] = useState("");
  // When the events are refused after it, a second try does not begin with it again.
  const muted = useRef(false);
  const sources = filter.source?.length ? filter.source : [null];
  const where = sources[0] === null ? "in every source" : `in ${sources.join(", ")}`;
  const wanted = events ? mustType(pending) : null;
  const read = muteTerms(draft, now);
  const mutes = read.terms !== null || read.faults !== null;
  const name = groups.length === 1 ? visible(groups[0]!.errorCode) : plural(groups.length, "group");
  const typedRight = wanted === null || typed.replaceAll(/[\s,.]/g, "") === wanted;
  return (
    <ReasonDialog
      needs="ignore"
      everySource={sources[0] === null && read.terms !== null}
      title={`Mute or ignore ${name}`}
      description={`While a group is muted, no messages about it are sent ${where}: its alerts are shown only in the console, and those still firing when the mute ends are sent then.`}
      size="sm"
      verb={events ? `${mutes ? "Mute and ignore" : "Ignore"} ${plural(pending, "event")}` : "Mute"}
      reasonHint="Recorded in the audit log."
      ready={() => now > 0 && typedRight && (events || mutes)}
      onClose={onClose}
      onSubmit={async (reason) => {
        if (read.faults !== null) return "stay";
        if (read.terms !== null && !muted.current) {
          const fingerprints = groups.map(({ fingerprint }) => fingerprint);
          for (const source of sources) await mute.mutateAsync({ fingerprints, source, ...read.terms, reason });
          muted.current = true;
        }
        if (!events) {
          onDone?.();
          return { title: `Muted ${name}`, tone: "success" };
        }
        const select = pinSelection({ filter: ignored }, counted?.asOf ?? null);
        const change = { kind: "ignore", select, reason } as const;
        const answer = await changeEvents(client, change, keyFor(change));
        onDone?.();
        return countedToast(client, "ignore", answer, {
          selection: { filter: ignored },
          cutoff: counted?.asOf ?? null,
        });
      }}
    >
      {(pressed) => (
        <div className="grid gap-3">
          <div className="grid grid-cols-2 gap-3">
            <SelectField
              label="Mute its alerts"
              options={TIMES}
              value={draft.time}
              onValue={(time) => setDraft({ ...draft, time })}
            />
            <TextField
              label="Or until this many more arrive"
              optional
              inputMode="numeric"
              placeholder="1,000"
              error={pressed ? read.faults?.more : undefined}
              value={draft.more}
              onValue={(more) => setDraft({ ...draft, more })}
            />
          </div>
          {draft.time === "at" ? (
            <TextField
              label="Until"
              type="datetime-local"
              hint="In this browser's time zone."
              error={pressed ? read.faults?.at : undefined}
              value={draft.at}
              onValue={(at) => setDraft({ ...draft, at })}
            />
          ) : null}
          <Tick
            label={`Ignore the ${plural(pending, "event")} parked now`}
            hint={`they are not redriven until somebody releases them${queued === 0 ? "" : `; ${formatNumber(queued)} QUEUED are left out`}`}
            checked={events}
            onChecked={setEvents}
          />
          {wanted === null ? null : (
            <TextField label={`Type ${formatNumber(pending)} to confirm`} value={typed} onValue={setTyped} />
          )}
        </div>
      )}
    </ReasonDialog>
  );
}
