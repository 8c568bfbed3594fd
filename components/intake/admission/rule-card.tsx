"use client";

import { useState } from "react";
import { RuleCard, type RuleCardProps, RuleVersion } from "@/components/rules/rule-card";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { admissionRules, useAdmissionRule } from "@/lib/intake/admission/admission.browser";
import type { Condition } from "@/lib/intake/admission/admission.pure";
import type { RuleOut } from "@/lib/intake/admission/admission.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { conditionWords, countWords, effectFilter, effectWords } from "./rule-words";

const SwitchDialog = lazily(() => import("./rule-dialog"), "SwitchDialog");

/** One rule: what it matches, what it does, what it did lately, and its actions. */
export function AdmissionRuleCard(card: RuleCardProps<RuleOut>) {
  const { rule } = card;
  const [samples, setSamples] = useState(false);
  const found = effectFilter(rule);
  const kept = rule.lastDay.dropped + rule.lastDay.failed > 0;
  return (
    <RuleCard
      needs="change-admission"
      needsToDelete="change-admission"
      everySource={rule.source === null}
      {...card}
      state={rule.fault ? "FAULT" : rule.enabled ? "ON" : "OFF"}
      aside={<span className="text-muted">{rule.source === null ? "all sources" : `source ${rule.source}`}</span>}
      afterDeletion="Its counts and samples are no longer shown. Events that it changed stay as they are, and name it."
      hooks={admissionRules}
      switchDialog={(onClose) => <SwitchDialog rule={rule} onClose={onClose} />}
    >
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
        <RuleVersion rule={rule} subject="rule" />
        {found === null ? null : (
          <TextLink href={eventsHref(found.filter)} className="inline-block min-h-6">
            {found.words}
          </TextLink>
        )}
      </div>
      {samples ? <Samples id={rule.id} /> : null}
    </RuleCard>
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
      {data.samples.length === 0 ? <li className="text-muted">The samples are no longer kept.</li> : null}
    </ul>
  );
}
