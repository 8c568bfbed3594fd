"use client";

import Link from "next/link";
import { useState } from "react";
import { RuleMoves, RuleState } from "@/components/rules/rule-parts";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import { eventsHref } from "@/lib/events/filter/filter-read.browser";
import { useAdmissionRule, useChangeRule, useDeleteRule } from "@/lib/intake/admission/admission.browser";
import type { Condition } from "@/lib/intake/admission/admission.pure";
import type { RuleOut } from "@/lib/intake/admission/admission.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { conditionWords, countWords, effectFilter, effectWords } from "./rule-words";

const SwitchDialog = lazily(() => import("./switch-dialog").then(({ SwitchDialog }) => SwitchDialog));
const DeleteRuleDialog = lazily(() =>
  import("@/components/rules/delete-rule-dialog").then(({ DeleteRuleDialog }) => DeleteRuleDialog),
);

type Neighbours = { above: RuleOut | null; below: RuleOut | null };

/** One rule: what it matches, what it does, what it did lately, and its actions. */
export function RuleCard({ rule, above, below, onEdit }: { rule: RuleOut; onEdit: () => void } & Neighbours) {
  const [open, setOpen] = useState<"switch" | "delete" | null>(null);
  const [samples, setSamples] = useState(false);
  const remove = useDeleteRule();
  const found = effectFilter(rule);
  const kept = rule.lastDay.dropped + rule.lastDay.failed > 0;
  return (
    <li
      aria-label={rule.name}
      className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <RuleState state={rule.fault ? "FAULT" : rule.enabled ? "ON" : "OFF"} />
        <h2 className="min-w-0 font-medium wrap-anywhere">{rule.name}</h2>
        <span className="text-muted">{rule.source === null ? "every source" : `source ${rule.source}`}</span>
        <div className="ml-auto flex flex-wrap items-center gap-1">
          <Moves rule={rule} above={above} below={below} />
          <Button size="sm" onClick={() => setOpen("switch")}>
            {rule.enabled ? "Switch off…" : "Switch on…"}
          </Button>
          <Button size="sm" onClick={onEdit}>
            Edit…
          </Button>
          <Button size="sm" onClick={() => setOpen("delete")}>
            Delete…
          </Button>
        </div>
      </div>
      {rule.fault === null ? null : (
        <p className="text-danger wrap-anywhere">
          This rule cannot be applied, and messages are parked without it: {rule.fault}
        </p>
      )}
      {rule.when && rule.do ? <Sentence when={rule.when} effects={effectWords(rule.do)} /> : null}
      <div className="flex flex-wrap items-baseline gap-x-3 text-sm text-muted">
        <Counts rule={rule} />
        {kept ? (
          <Button variant="ghost" size="sm" aria-expanded={samples} onClick={() => setSamples(!samples)}>
            {samples ? "Hide samples" : "Show samples"}
          </Button>
        ) : null}
        <span>
          version {rule.version} by {rule.updatedBy} · <TimeAgo at={rule.updatedAt} /> ·{" "}
          <Link
            href={`/audit?subjectKind=rule&subjectId=${rule.id}`}
            className="inline-block min-h-6 hover:text-ink hover:underline"
          >
            audit
          </Link>
        </span>
        {found === null ? null : (
          <Link
            href={eventsHref(found.filter)}
            prefetch={false}
            className="inline-block min-h-6 text-accent hover:underline"
          >
            {found.words}
          </Link>
        )}
      </div>
      {samples ? <Samples id={rule.id} /> : null}
      {open === "switch" ? <SwitchDialog rule={rule} onClose={() => setOpen(null)} /> : null}
      {open === "delete" ? (
        <DeleteRuleDialog
          name={rule.name}
          description="Its counts and samples are no longer shown. Events that it changed stay as they are, and name it."
          onDelete={(reason) => remove.mutateAsync({ id: rule.id, reason })}
          onClose={() => setOpen(null)}
        />
      ) : null}
    </li>
  );
}

function Sentence({ when, effects }: { when: Condition[]; effects: string[] }) {
  return (
    <p className="wrap-anywhere">
      <span className="text-muted">when </span>
      {when.length === 0 ? <span>any message arrives</span> : null}
      {when.map((condition, index) => {
        const { subject, test, value } = conditionWords(condition);
        return (
          <span key={JSON.stringify(condition)}>
            {index > 0 ? <span className="text-muted"> and </span> : null}
            {subject} {test} {value === null ? null : <span className="font-mono text-sm">{visible(value)}</span>}
          </span>
        );
      })}
      <span className="text-muted"> → </span>
      {effects.join(", ")}
    </p>
  );
}

function Counts({ rule: { lastHour, lastDay } }: { rule: RuleOut }) {
  const lines = (["matched", "dropped", "failed"] as const).flatMap(
    (what) => countWords(what, lastHour[what], lastDay[what]) ?? [],
  );
  return <span>{lines.length === 0 ? "matched nothing in 24 hours" : lines.join(" · ")}</span>;
}

function Moves({ rule, above, below }: { rule: RuleOut } & Neighbours) {
  const change = useChangeRule();
  const move = (to: { position: number; reason: string }) => {
    if (change.isPending) return;
    change.mutate(
      { id: rule.id, change: to },
      { onError: (error) => failureToast(`${rule.name} was not moved`, error) },
    );
  };
  return <RuleMoves name={rule.name} above={above} below={below} onMove={move} />;
}

/** A few messages that the rule dropped, or on which it failed. Their payloads are not kept. */
function Samples({ id }: { id: string }) {
  const { data, error, isError, refetch } = useAdmissionRule(id);
  if (isError) return <ErrorPanel error={error} onRetry={() => refetch()} inline={data !== undefined} />;
  if (!data) return <SkeletonRows rows={2} columns={["w-24", "flex-1"]} />;
  return (
    <ul aria-label="Samples" className="grid gap-1 rounded-md bg-canvas px-3 py-2">
      {data.samples.map((sample) => (
        <li key={sample.id} className="min-w-0">
          <p className="flex flex-wrap items-baseline gap-x-2">
            <span className="text-muted">
              {sample.outcome} <TimeAgo at={sample.at} />
            </span>
            <span className="font-mono text-sm wrap-anywhere">{visible(sample.eventId)}</span>
            <span className="font-mono text-sm wrap-anywhere text-muted">{visible(sample.errorCode)}</span>
            <span className="text-muted">{visible(sample.source)}</span>
          </p>
          {sample.fault === null ? null : <p className="text-danger wrap-anywhere">{sample.fault}</p>}
          {sample.errorMessage === null ? null : (
            <p className="text-sm wrap-anywhere text-muted">{visible(sample.errorMessage)}</p>
          )}
        </li>
      ))}
      {data.samples.length === 0 ? <li className="text-muted">None is kept any longer.</li> : null}
    </ul>
  );
}
