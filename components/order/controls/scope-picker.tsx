"use client";

import Link from "next/link";
import type { ComponentProps } from "react";
import type { Form } from "@/components/ui/draft-dialog";
import { TextField } from "@/components/ui/input";
import { NumberWithKind } from "@/components/ui/number-with-kind";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { useMatches } from "@/lib/order/controls/controls.browser";
import type { ControlScopeName } from "@/lib/order/controls/controls.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { type ControlDraft, draftScope } from "./control-draft";
import { beyondSelected, SCOPE_LABEL, SCOPE_NAMES, scopeFilter, scopeOf } from "./scope-words";

const OPTIONS = SCOPE_NAMES.map((name) => ({ value: name, label: SCOPE_LABEL[name] }));

const EXAMPLE: Record<ControlScopeName, string> = {
  aggregateId: "order-77",
  errorCode: "UPSTREAM_5XX",
  source: "orders",
  eventId: "the producer's event id",
};

/** The scope of a control, and the number of parked events in it. `selected`: of events; null = unknown, or none selected. */
export function ScopePicker({ draft, text, selected }: Form<ControlDraft> & { selected: number | null }) {
  const name = draft.scopeName;
  return (
    <div className="grid gap-1.5">
      <div className="flex items-start gap-2">
        <SelectField {...text("scopeName")} label="Scope" className="shrink-0" options={OPTIONS} />
        <Name {...text("scopeValue")} label={SCOPE_LABEL[name]} placeholder={EXAMPLE[name]} />
      </div>
      {name === "source" ? null : (
        <div className="flex items-start gap-2">
          {name === "aggregateId" ? (
            <Name {...text("aggregateType")} label="Only of type" placeholder="any type" />
          ) : null}
          <Name {...text("source")} label="Only in source" placeholder="all sources" />
        </div>
      )}
      {name !== "source" && draft.source.trim() === "" ? (
        <p className="text-muted">Without a source it applies to all sources.</p>
      ) : null}
      <Matches scope={useSettled(JSON.stringify(draftScope(draft)))} selected={selected} />
    </div>
  );
}

function Name(props: ComponentProps<typeof TextField>) {
  return <TextField {...props} className="min-w-0 flex-1" maxLength={512} inputClassName="font-mono" />;
}

/** @param scope as JSON, so that an equal scope is an equal value */
function Matches({ scope, selected }: { scope: string; selected: number | null }) {
  const filter = scopeFilter(JSON.parse(scope));
  const value = scopeOf(JSON.parse(scope))?.value ?? "";
  const counted = useMatches(filter, value !== "");
  const total = counted.data?.total;
  const beyond = total ? beyondSelected(total.value, selected) : null;
  return (
    <p aria-live="polite" className="min-h-5 text-muted">
      {value === "" ? null : counted.isError ? (
        "The number of matches is unknown; the control can still be added."
      ) : !total ? (
        "counting…"
      ) : total.value === 0 ? (
        "Matches no parked event now; it will apply to new events."
      ) : (
        <>
          Matches <NumberWithKind count={total} className="font-medium text-ink" /> parked now, and new events.{" "}
          {beyond === null ? null : <span className="text-warning">{beyond} </span>}
          <Link href={eventsHref(filter)} target="_blank" className="text-accent underline">
            Show them
          </Link>
        </>
      )}
    </p>
  );
}
