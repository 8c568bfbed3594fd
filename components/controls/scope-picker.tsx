"use client";

import Link from "next/link";
import { useEffect, useState } from "react";
import { Field, Input } from "@/components/ui/input";
import { NumberWithKind } from "@/components/ui/number-with-kind";
import { Select } from "@/components/ui/select";
import { useCaught } from "@/lib/browser/controls";
import { eventsHref } from "@/lib/browser/filter-read";
import type { ControlScopeName } from "@/lib/contract/controls";
import { SCOPE_LABEL, SCOPE_NAMES, scopeFilter } from "./scope-words";

const OPTIONS = SCOPE_NAMES.map((name) => ({ value: name, label: SCOPE_LABEL[name] }));
/** Long enough not to count for every letter, short enough to answer before the hand leaves the keys. */
const COUNT_AFTER_MS = 300;

const EXAMPLE: Record<ControlScopeName, string> = {
  aggregateId: "order-77",
  errorCode: "UPSTREAM_5XX",
  source: "orders",
  eventId: "the producer's event id",
};

/** Which events a control holds for, and how many of those are parked now. */
export function ScopePicker(props: {
  name: ControlScopeName;
  value: string;
  error?: string | undefined;
  onChange: (name: ControlScopeName, value: string) => void;
}) {
  const { name, value } = props;
  return (
    <div className="grid gap-1.5">
      <div className="flex items-start gap-2">
        <Field label="Scope" className="shrink-0">
          {(control) => (
            <Select
              {...control}
              options={OPTIONS}
              value={name}
              onChange={(event) => props.onChange(event.target.value as ControlScopeName, value)}
            />
          )}
        </Field>
        <Field label={SCOPE_LABEL[name]} error={props.error} className="min-w-0 flex-1">
          {(control) => (
            <Input
              {...control}
              maxLength={512}
              data-required-empty={value.trim() === "" || undefined}
              placeholder={EXAMPLE[name]}
              value={value}
              onChange={(event) => props.onChange(name, event.target.value)}
              className="font-mono"
            />
          )}
        </Field>
      </div>
      <Caught name={name} value={useSettled(value.trim())} />
    </div>
  );
}

/** The value once it stopped changing. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), COUNT_AFTER_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function Caught({ name, value }: { name: ControlScopeName; value: string }) {
  const filter = scopeFilter(name, value);
  const caught = useCaught(filter, value !== "");
  const total = caught.data?.total;
  return (
    <p aria-live="polite" className="min-h-5 text-muted">
      {value === "" ? null : caught.isError ? (
        "How many it catches is unknown; it can be imposed all the same."
      ) : !total ? (
        "counting…"
      ) : total.value === 0 ? (
        "Catches nothing that is parked now; it holds for what comes."
      ) : (
        <>
          Catches <NumberWithKind count={total} className="font-medium text-ink" /> parked now, and what comes.{" "}
          <Link href={eventsHref(filter)} target="_blank" className="text-accent underline">
            Show them
          </Link>
        </>
      )}
    </p>
  );
}
