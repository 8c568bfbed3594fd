"use client";

import Link from "next/link";
import { useState } from "react";
import { RuleMoves, RuleState } from "@/components/rules/rule-parts";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { eventsHref } from "@/lib/events/filter/filter-read.browser";
import { termsOf, writeTerm } from "@/lib/events/filter/qualified-search.browser";
import { visible } from "@/lib/platform/plain/format.pure";
import { useChangeRedriveRule, useDeleteRedriveRule } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { limitWords, ruleSentence, triedWords, workWords } from "./rule-words";

const DeleteRuleDialog = lazily(() =>
  import("@/components/rules/delete-rule-dialog").then(({ DeleteRuleDialog }) => DeleteRuleDialog),
);
const SwitchOnDialog = lazily(() => import("./switch-dialog").then(({ SwitchOnDialog }) => SwitchOnDialog));
const SwitchOffDialog = lazily(() => import("./switch-dialog").then(({ SwitchOffDialog }) => SwitchOffDialog));

type Neighbours = { above: RedriveRuleOut | null; below: RedriveRuleOut | null };

/** One redrive rule: which events, when, what it did, and its actions. */
export function RuleCard({ rule, above, below, onEdit }: { rule: RedriveRuleOut; onEdit: () => void } & Neighbours) {
  const [open, setOpen] = useState<"switch" | "delete" | null>(null);
  const change = useChangeRedriveRule();
  const remove = useDeleteRedriveRule();
  const close = () => setOpen(null);
  const filter = rule.filter as EventFilter;
  const state = rule.fault && rule.enabled ? "FAULT" : rule.enabled ? "ON" : rule.stopped ? "STOPPED" : "OFF";
  const move = (to: { position: number; reason: string }) => {
    if (change.isPending) return;
    change.mutate(
      { id: rule.id, change: to },
      { onError: (error) => failureToast(`${rule.name} was not moved`, error) },
    );
  };
  return (
    <li
      aria-label={rule.name}
      className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <RuleState state={state} />
        <h2 className="min-w-0 font-medium wrap-anywhere">{rule.name}</h2>
        <div className="ml-auto flex flex-wrap items-center gap-1">
          <RuleMoves name={rule.name} above={above} below={below} onMove={move} />
          <Button size="sm" onClick={() => setOpen("switch")}>
            {rule.enabled ? "Switch off…" : "Switch on…"}
          </Button>
          <Button
            size="sm"
            onClick={onEdit}
            disabled={rule.enabled}
            data-tip={rule.enabled ? "Switch it off first: a rule is only on as it was tried" : undefined}
          >
            Edit…
          </Button>
          <Button size="sm" onClick={() => setOpen("delete")}>
            Delete…
          </Button>
        </div>
      </div>
      {rule.stopped && !rule.enabled ? (
        <p className="text-danger wrap-anywhere">
          Switched itself off <TimeAgo at={rule.stopped.at} />: {rule.stopped.reason}
        </p>
      ) : null}
      {rule.fault && rule.enabled ? (
        <p className="text-danger wrap-anywhere">The last round could not apply it: {rule.fault}</p>
      ) : null}
      <p className="wrap-anywhere">
        <span className="text-muted">redrives </span>
        <Link href={eventsHref(filter)} prefetch={false} className="font-mono text-sm text-accent hover:underline">
          {visible(termsOf(filter).map(writeTerm).join(" "))}
        </Link>
        <span className="text-muted"> → </span>
        {ruleSentence(rule)}
      </p>
      <p className="text-sm text-muted">{limitWords(rule)}</p>
      <Work rule={rule} />
      {open === "switch" && !rule.enabled ? <SwitchOnDialog rule={rule} onClose={close} /> : null}
      {open === "switch" && rule.enabled ? <SwitchOffDialog rule={rule} onClose={close} /> : null}
      {open === "delete" ? (
        <DeleteRuleDialog
          name={rule.name}
          description="The rule starts no more redrives. Redrives it already started continue and keep its name."
          onDelete={(reason) => remove.mutateAsync({ id: rule.id, reason })}
          onClose={close}
        />
      ) : null}
    </li>
  );
}

function Work({ rule }: { rule: RedriveRuleOut }) {
  const { lastRun, trial } = rule;
  return (
    <div className="flex flex-wrap items-baseline gap-x-3 text-sm text-muted">
      <span>{workWords(rule) ?? "redrove nothing in 24 hours"}</span>
      {lastRun === null ? null : (
        <Link
          href={`/redrives/${lastRun.redriveId}`}
          prefetch={false}
          className="inline-block min-h-6 text-accent hover:underline"
        >
          {lastRun.live ? "its redrive runs" : "its last redrive"}
        </Link>
      )}
      {trial === null ? (
        <span>not tried</span>
      ) : (
        <span>
          tried <TimeAgo at={trial.at} />: {triedWords(trial)}
        </span>
      )}
      <span>
        version {rule.version} by {rule.updatedBy} · <TimeAgo at={rule.updatedAt} /> ·{" "}
        <Link
          href={`/audit?subjectKind=redrive-rule&subjectId=${rule.id}`}
          prefetch={false}
          className="inline-block min-h-6 hover:text-ink hover:underline"
        >
          audit
        </Link>
      </span>
    </div>
  );
}
