"use client";

import { Plus, X } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { formOf } from "@/components/ui/draft-dialog";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { useChangeRetention, useRetentionOf } from "@/lib/keep/retention/retention.browser";
import type { RetentionOut } from "@/lib/keep/retention/retention.shapes";
import { useSources } from "@/lib/sources/sources.browser";
import { DueDays } from "./due-days";
import { changeOf, DAYS_WORDS, daysOf, dueText, ruleFault, saveWords, type TypedRule } from "./retention-words";

/** All periods are saved together. */
export function RetentionDialog({ retention, onClose }: { retention: RetentionOut; onClose: () => void }) {
  const [days, setDays] = useState(String(retention.days));
  const [rules, setRules] = useState<(TypedRule & { key: number })[]>(
    retention.rules.map((rule, key) => ({
      key,
      source: rule.source ?? "",
      errorCode: rule.errorCode ?? "",
      days: String(rule.days),
    })),
  );
  // What is edited is what was read then, whatever is read meanwhile.
  const [changedAt] = useState(retention.changedAt);
  const [tried, setTried] = useState(false);
  const sources = useSources();
  const save = useChangeRetention();
  const names = new Set([...(sources.data?.items ?? []).map(({ name }) => name), ...rules.map(({ source }) => source)]);
  names.delete("");
  const options = [
    { value: "", label: "all sources" },
    ...[...names].sort().map((name) => ({ value: name, label: name })),
  ];
  const change = changeOf(days, rules);
  const now = change === null ? "" : JSON.stringify(change);
  const settled = useSettled(now);
  const preview = useRetentionOf(settled === "" ? null : JSON.parse(settled));
  const counted = settled === now ? preview.data : undefined;
  const expires = saveWords(counted?.days);
  const add = () =>
    setRules([...rules, { key: Math.max(-1, ...rules.map(({ key }) => key)) + 1, source: "", errorCode: "", days }]);
  return (
    <ReasonDialog
      needs="change-settings"
      everySource
      title="How long events are kept"
      description="A shorter time makes older events expire within ten minutes: they go into the archive, from which they can be restored."
      verb={expires}
      variant={expires === "Save" ? "primary" : "danger"}
      // Errors are shown on submit; a valid change is counted first.
      ready={() => change === null || counted !== undefined || preview.isError}
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        setTried(true);
        if (change === null) return "stay";
        await save.mutateAsync({ ...change, changedAt, reason });
        return { title: "Retention changed", tone: "success" };
      }}
    >
      <div className="grid gap-4">
        <TextField
          label={rules.length === 0 ? "Keep all events for, days" : "Keep all other events for, days"}
          error={tried && daysOf(days) === null ? DAYS_WORDS : undefined}
          inputMode="numeric"
          value={days}
          onValue={setDays}
          inputClassName="w-24!"
        />
        {rules.map((rule, at) => {
          const fault = tried ? ruleFault(rules, at) : null;
          const set = (next: typeof rule) => setRules(rules.map((other) => (other.key === next.key ? next : other)));
          const { text } = formOf(rule, set, fault === null ? {} : { [fault.field]: fault.words });
          return (
            <fieldset
              key={rule.key}
              className="grid grid-cols-[1fr_auto] items-start gap-2 sm:grid-cols-[1fr_1fr_6rem_auto]"
            >
              <legend className="sr-only">Period {at + 1}</legend>
              <SelectField
                {...text("source")}
                label="Source"
                options={options}
                className="col-span-2 sm:col-span-1"
                inputClassName="w-full"
              />
              <TextField
                {...text("errorCode")}
                label="Error code"
                placeholder="every code"
                className="col-span-2 sm:col-span-1"
                inputClassName="font-mono text-sm"
              />
              <TextField {...text("days")} label="Days" inputMode="numeric" />
              <Button
                variant="ghost"
                aria-label={`Remove period ${at + 1}`}
                data-tip="Remove this period"
                onClick={() => setRules(rules.filter(({ key }) => key !== rule.key))}
                className="mt-5.5"
              >
                <X size={14} aria-hidden />
              </Button>
            </fieldset>
          );
        })}
        <div>
          <Button size="sm" onClick={add}>
            <Plus size={13} aria-hidden /> Add a period for a source or an error code
          </Button>
        </div>
        {change === null ? null : (
          <section aria-label="What expires with these periods" className="grid gap-1">
            <p aria-live="polite" className={counted?.days && expires !== "Save" ? "text-warning" : "text-muted"}>
              {counted === undefined
                ? preview.isError
                  ? "How many events expire is not known."
                  : "counting…"
                : counted.days === null
                  ? "Counting took too long: how many events expire is not known."
                  : `${dueText(counted.days)}${expires === "Save" ? "" : ", within ten minutes"}.`}
            </p>
            {counted?.days && counted.days.length > 0 ? <DueDays days={counted.days} /> : null}
          </section>
        )}
      </div>
    </ReasonDialog>
  );
}
