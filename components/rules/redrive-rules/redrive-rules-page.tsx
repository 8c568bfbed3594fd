"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import { plural } from "@/lib/platform/plain/format.pure";
import { useRedriveRules } from "@/lib/rules/redrive-rules.browser";
import type { RedriveRuleOut } from "@/lib/rules/redrive-rules.shapes";
import { RuleCard } from "./rule-card";

const RuleDialog = lazily(() => import("./rule-dialog").then(({ RuleDialog }) => RuleDialog));

/** The rules by which a worker redrives parked events, in their order. */
export function RedriveRulesPage() {
  const rules = useRedriveRules();
  const [editing, setEditing] = useState<RedriveRuleOut | "new" | null>(null);
  const items = rules.data?.items ?? [];
  const on = items.filter(({ enabled }) => enabled).length;
  const add = (look: { variant?: "primary" }) => (
    <Button {...look} onClick={() => setEditing("new")}>
      New redrive rule…
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Redrive rules"
        meta={rules.data ? `${plural(items.length, "rule")}, ${on} on` : undefined}
        actions={add({ variant: "primary" })}
      />
      {rules.isError ? (
        <ErrorPanel error={rules.error} onRetry={() => rules.refetch()} inline={items.length > 0} />
      ) : null}
      {rules.isPending ? <SkeletonRows rows={3} columns={["w-16", "flex-1", "w-24"]} /> : null}
      {rules.isSuccess && items.length === 0 ? (
        <EmptyState title="No redrive rule yet" action={add({})}>
          A rule redrives parked events by itself, some time after they were parked: for failures that pass, such as
          timeouts. It is off until it was tried against the past, and switches itself off when its events fail again.
        </EmptyState>
      ) : null}
      {items.length > 0 ? (
        <p className="px-4 pb-2 text-muted">An event belongs to the first rule that is on and matches it.</p>
      ) : null}
      <ol className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3" aria-label="Redrive rules">
        {items.map((rule, index) => (
          <RuleCard
            key={rule.id}
            rule={rule}
            above={items[index - 1] ?? null}
            below={items[index + 1] ?? null}
            onEdit={() => setEditing(rule)}
          />
        ))}
      </ol>
      {editing ? <RuleDialog rule={editing === "new" ? null : editing} onClose={() => setEditing(null)} /> : null}
    </>
  );
}
