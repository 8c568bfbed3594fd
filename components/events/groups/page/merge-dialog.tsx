"use client";

import { useState } from "react";
import { Choice, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { TextLink } from "@/components/ui/text-link";
import { useSettled } from "@/components/ui/use-settled";
import type { GroupOut } from "@/lib/events/events.shapes";
import { useGroups, useMergeGroup } from "@/lib/events/groups/groups.browser";
import { plural, visible } from "@/lib/platform/plain/format.pure";

/** As many as are read at a glance; a search narrows them. */
const SHOWN_MAX = 8;

/** Lets another group of the same error code stand for this one. */
export function MergeDialog(props: { group: GroupOut; onClose: () => void; onMerged: (into: string) => void }) {
  const { group, onClose, onMerged } = props;
  const merge = useMergeGroup();
  const [text, setText] = useState("");
  const [into, setInto] = useState("");
  const q = useSettled(text.trim());
  const found = useGroups(
    { errorCode: [group.errorCode], ...(q === "" ? {} : { q }) },
    { sort: "count", verdict: null },
  );
  const others = (found.data?.pages ?? [])
    .flatMap(({ items }) => items)
    .filter(({ fingerprint }) => fingerprint !== group.fingerprint);
  const shown = others.slice(0, SHOWN_MAX);
  // A choice that the search has hidden is none: what is confirmed is what is seen.
  const chosen = shown.find(({ fingerprint }) => fingerprint === into);
  return (
    <ReasonDialog
      needs="ignore"
      title="Merge into another group"
      description="All events of this group, parked now or later, move to the group that you choose. Links, filters and rules that name this group then find that group. Mutes of this group end. You can split it off again later."
      verb="Merge"
      reasonHint="Recorded in the audit log."
      ready={() => chosen !== undefined}
      onClose={onClose}
      onSubmit={async (reason) => {
        if (!chosen) return "stay";
        const merged = await merge.mutateAsync({
          fingerprint: group.fingerprint,
          body: { into: chosen.fingerprint, reason },
        });
        onMerged(merged.into);
        return { title: "Groups merged; events are moving in the background", tone: "success" };
      }}
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
        <TextField
          label={`Groups with the error code ${visible(group.errorCode)}`}
          type="search"
          placeholder="words in the message, exception or frame"
          value={text}
          onValue={setText}
        />
        {shown.length === 0 ? (
          <p className="text-muted">
            {found.isPending
              ? "Reading the groups…"
              : found.error
                ? "The groups could not be loaded. Close the dialog and try again."
                : q === ""
                  ? "No other group has this error code."
                  : "No other group with this error code matches."}
          </p>
        ) : (
          <Choice
            label="the group to merge into"
            className="grid grid-cols-[minmax(0,1fr)] gap-2"
            value={chosen?.fingerprint ?? ""}
            onChange={setInto}
            options={shown.map((other) => ({ value: other.fingerprint, label: <Other group={other} /> }))}
          />
        )}
        {others.length > SHOWN_MAX ? (
          <p className="text-muted">Only the first {SHOWN_MAX} are shown. Search to find others.</p>
        ) : null}
        <p className="text-muted">
          Only groups with the same error code can be merged. To change the error code of new events, add an{" "}
          <TextLink href="/admission">admission rule</TextLink>.
        </p>
      </div>
    </ReasonDialog>
  );
}

function Other({ group }: { group: GroupOut }) {
  const events = Object.values(group.counts).reduce((sum, n) => sum + n, 0);
  return (
    <span className="grid min-w-0 grid-cols-[minmax(0,1fr)]">
      <bdi className="truncate font-mono text-sm">
        {group.pattern === "" ? "without a message" : visible(group.pattern)}
      </bdi>
      <span className="truncate text-muted">
        {plural(events, "event")} of {group.sources.map(visible).join(", ")}
        {group.firstFrame === null ? "" : `, in ${visible(group.firstFrame)}`}
      </span>
    </span>
  );
}
