"use client";

import type { UseQueryResult } from "@tanstack/react-query";
import { type ComponentType, type ReactNode, useState } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import type { StoredRuleOut } from "@/lib/rules/rule.shapes";
import type { RuleCardProps } from "./rule-card";

/**
 * The page of one kind of rules: a card for each rule in their order, and the dialog that writes one. `intro` says what they
 * are for while there is none, `order` what their order means.
 */
export function RulesPage<Rule extends StoredRuleOut>(
  props: Record<"title" | "noun" | "intro" | "order", string> & {
    /** What whoever changes one must be allowed. */
    needs: Needs;
    rules: UseQueryResult<{ items: Rule[] }, ApiError>;
    /** Which rules are shown, and a note above them that says so; null = all. */
    shows: { rule: (rule: Rule) => boolean; note: ReactNode } | null;
    Card: ComponentType<RuleCardProps<Rule>>;
    Dialog: ComponentType<{ rule: Rule | null; onClose: () => void }>;
    children?: ReactNode;
  },
) {
  const { title, noun, intro, order, needs, rules, shows, Card, Dialog, children } = props;
  const [editing, setEditing] = useState<Rule | "new" | null>(null);
  const items = rules.data?.items ?? [];
  const shown = shows === null ? items : items.filter(shows.rule);
  const on = items.filter(({ enabled }) => enabled).length;
  const add = (variant?: "primary") => (
    <Button needs={needs} variant={variant} onClick={() => setEditing("new")}>
      New {noun}…
    </Button>
  );
  return (
    <>
      <PageHeader
        title={title}
        meta={rules.data ? `${plural(items.length, "rule")}, ${on} on` : undefined}
        actions={add("primary")}
      />
      <ReadError read={rules} stale={items.length > 0} />
      {rules.isPending ? <SkeletonRows rows={4} columns={["w-16", "flex-1", "w-24"]} /> : null}
      {shows === null && rules.isSuccess && items.length === 0 ? (
        <EmptyState title={`No ${noun} yet`} action={add()}>
          {intro}
        </EmptyState>
      ) : null}
      {rules.data ? shows?.note : null}
      {shown.length > 0 && order ? <p className="px-4 pb-2 text-muted">{order}</p> : null}
      <ol
        className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3"
        aria-label={`${noun[0]!.toUpperCase()}${noun.slice(1)}s`}
      >
        {shown.map((rule) => (
          <Card
            key={rule.id}
            rule={rule}
            above={items[items.indexOf(rule) - 1] ?? null}
            below={items[items.indexOf(rule) + 1] ?? null}
            onEdit={() => setEditing(rule)}
          />
        ))}
      </ol>
      {children}
      {editing ? <Dialog rule={editing === "new" ? null : editing} onClose={() => setEditing(null)} /> : null}
    </>
  );
}
