"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { NumberWithKind } from "@/components/ui/number-with-kind";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { failureToast, showToast } from "@/components/ui/toast";
import { useSettled } from "@/components/ui/use-settled";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { liftHold, usePlaceHold } from "@/lib/keep/holds/holds.browser";
import { useCaught } from "@/lib/order/controls/controls.browser";
import {
  type DraftErrors,
  HOLD_LABEL,
  HOLD_SCOPES,
  type HoldDraft,
  type HoldScopeName,
  holdFilter,
  holdOver,
  holdRequest,
} from "./hold-words";

const OPTIONS = HOLD_SCOPES.map((name) => ({ value: name, label: HOLD_LABEL[name] }));

const EXAMPLE: Record<HoldScopeName, string> = {
  aggregateId: "order-77",
  tag: "42",
  eventId: "the producer's event id",
  errorCode: "UPSTREAM_5XX",
  source: "orders",
};

const EMPTY: HoldDraft = {
  ...{ scopeName: "aggregateId", value: "", tagName: "", aggregateType: "", source: "", from: "", to: "" },
};

/** Places a legal hold, with a reason. */
export function HoldDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(EMPTY);
  const client = useQueryClient();
  const place = usePlaceHold();
  return (
    <ReasonDialog
      needs="hold"
      everySource={draft.scopeName !== "source" && draft.source.trim() === ""}
      title="Place a legal hold"
      description="What it covers stays until it is lifted, in the store and in the archive. It can still be redriven, ignored and edited."
      verb="Place the hold"
      reasonHint="Shown beside the hold, and kept in the audit for ever. Name a file number, not a person."
      onClose={onClose}
      onSubmit={async (reason) => {
        const result = holdRequest(draft, reason);
        if (!result.ok) return "stay";
        const placed = await place.mutateAsync(result.request);
        return {
          title: `Under a legal hold: ${holdOver(placed.scope).value}`,
          tone: "success",
          action: {
            label: "Undo",
            onSelect: () =>
              void liftHold(client, { id: placed.id, reason: "undone" })
                .then(() => showToast({ title: "The hold is lifted again", tone: "success" }))
                .catch((error: unknown) => failureToast("It could not be undone", error)),
          },
        };
      }}
    >
      {(pressed) => {
        const result = holdRequest(draft, "");
        return (
          <Fields
            draft={draft}
            errors={pressed && !result.ok ? result.errors : {}}
            filter={result.ok ? holdFilter({ ...windowOf(result.request), scope: result.request.scope }) : null}
            set={(part) => setDraft({ ...draft, ...part })}
          />
        );
      }}
    </ReasonDialog>
  );
}

function windowOf({ from, to }: { from?: string | null | undefined; to?: string | null | undefined }) {
  return { from: from ?? null, to: to ?? null };
}

type Fields = {
  draft: HoldDraft;
  errors: DraftErrors;
  /** Of what it would cover; null = that is not said yet. */
  filter: EventFilter | null;
  set: (part: Partial<HoldDraft>) => void;
};

function Fields({ draft, errors, filter, set }: Fields) {
  const { scopeName: name } = draft;
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-start gap-2">
        <SelectField
          label="Scope"
          className="shrink-0"
          options={OPTIONS}
          value={name}
          onValue={(value) => set({ scopeName: value as HoldScopeName })}
        />
        {name === "tag" ? (
          <TextField
            label="tag name"
            error={errors.tagName}
            className="min-w-32 flex-1"
            maxLength={128}
            placeholder="customerId"
            value={draft.tagName}
            onValue={(tagName) => set({ tagName })}
            inputClassName="font-mono"
          />
        ) : null}
        <TextField
          label={name === "tag" ? "value" : HOLD_LABEL[name]}
          error={errors.value}
          className="min-w-40 flex-1"
          maxLength={512}
          placeholder={EXAMPLE[name]}
          value={draft.value}
          onValue={(value) => set({ value })}
          inputClassName="font-mono"
        />
      </div>
      <div className="flex flex-wrap items-start gap-2">
        {name === "aggregateId" ? (
          <TextField
            label="Only of type"
            className="min-w-40 flex-1"
            maxLength={256}
            placeholder="any type"
            value={draft.aggregateType}
            onValue={(aggregateType) => set({ aggregateType })}
            inputClassName="font-mono"
          />
        ) : null}
        {name === "source" ? null : (
          <TextField
            label="Only in source"
            className="min-w-40 flex-1"
            maxLength={256}
            placeholder="all sources"
            value={draft.source}
            onValue={(source) => set({ source })}
            inputClassName="font-mono"
          />
        )}
      </div>
      <div className="flex flex-wrap items-start gap-2">
        <TextField
          label="First seen from"
          optional
          type="datetime-local"
          value={draft.from}
          onValue={(from) => set({ from })}
        />
        <TextField
          label="First seen before"
          optional
          error={errors.to}
          type="datetime-local"
          value={draft.to}
          onValue={(to) => set({ to })}
        />
      </div>
      <Covered filter={useSettled(filter === null ? "" : JSON.stringify(filter))} />
    </div>
  );
}

/** @param filter as JSON, so that an equal one is an equal value; "" = none */
function Covered({ filter }: { filter: string }) {
  const counted = useCaught(filter === "" ? {} : JSON.parse(filter), filter !== "");
  const total = counted.data?.total;
  return (
    <p aria-live="polite" className="min-h-5 text-muted">
      {filter === "" ? null : counted.isError ? (
        "How many events it covers is unknown; it can be placed all the same."
      ) : !total ? (
        "counting…"
      ) : (
        <>
          Covers <NumberWithKind count={total} className="font-medium text-ink" /> in the store now, those in the
          archive, and what comes.
        </>
      )}
    </p>
  );
}
