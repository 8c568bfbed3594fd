"use client";

import Link from "next/link";
import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { Button, LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import { eventsHref } from "@/lib/events/filter/filter-read.browser";
import { useAdmissionRules } from "@/lib/intake/admission/admission.browser";
import { ADMISSION_MARKS } from "@/lib/intake/admission/admission.pure";
import type { RuleList, RuleOut } from "@/lib/intake/admission/admission.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { RuleCard } from "./rule-card";
import { countWords, MARK_WORDS } from "./rule-words";

const RuleDialog = lazily(() => import("./rule-dialog").then(({ RuleDialog }) => RuleDialog));

/** The rules that are applied to each message before it is stored, in their order. */
export function AdmissionPage() {
  const rules = useAdmissionRules();
  const [editing, setEditing] = useState<RuleOut | "new" | null>(null);
  const address = useSearchParams();
  const only = address.get("rule");
  const source = only === null ? address.get("source") : null;
  const items = rules.data?.items ?? [];
  const isOf = (rule: RuleOut) => source === null || rule.source === null || rule.source === source;
  const shown = items.filter((rule) => (only === null ? isOf(rule) : rule.id === only));
  const on = items.filter(({ enabled }) => enabled).length;
  return (
    <>
      <PageHeader
        title="Admission"
        meta={rules.data ? `${plural(items.length, "rule")}, ${on} on` : undefined}
        actions={
          <Button variant="primary" onClick={() => setEditing("new")}>
            New rule…
          </Button>
        }
      />
      {rules.isError ? (
        <ErrorPanel error={rules.error} onRetry={() => rules.refetch()} inline={items.length > 0} />
      ) : null}
      {rules.isPending ? <SkeletonRows rows={4} columns={["w-16", "flex-1", "w-24"]} /> : null}
      {only === null && source === null && rules.isSuccess && items.length === 0 ? (
        <EmptyState title="No rule yet" action={<Button onClick={() => setEditing("new")}>New rule…</Button>}>
          A rule looks at each message that arrives, before it is stored: it can give it an error code, name its group,
          park it early because its failure is permanent, ask for a confirmation before a redrive, or drop known noise.
        </EmptyState>
      ) : null}
      {(only !== null || source !== null) && rules.data ? (
        <p className="flex flex-wrap items-center gap-x-3 px-4 pb-2 text-muted">
          {source !== null ? (
            `${shown.length === 0 ? "No rule applies" : "The rules that apply"} to the source ${source}.`
          ) : shown.length > 0 ? (
            "One rule alone."
          ) : (
            <span>
              This rule is not there any more: it was deleted, or it is of a source that you may not see.{" "}
              <Link
                href={`/audit?subjectKind=rule&subjectId=${encodeURIComponent(only ?? "")}`}
                className="text-accent underline"
              >
                Its audit
              </Link>
            </span>
          )}
          <LinkButton size="sm" href="/admission">
            Show all rules
          </LinkButton>
        </p>
      ) : null}
      {only === null && shown.length > 0 ? (
        <p className="px-4 pb-2 text-muted">
          Applied in this order, each to the message as the rules above left it. A drop ends it.
        </p>
      ) : null}
      <ol className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3" aria-label="Rules">
        {shown.map((rule) => (
          <RuleCard
            key={rule.id}
            rule={rule}
            above={items[items.indexOf(rule) - 1] ?? null}
            below={items[items.indexOf(rule) + 1] ?? null}
            onEdit={() => setEditing(rule)}
          />
        ))}
      </ol>
      {only === null && rules.data ? <BuiltIn superseded={rules.data.superseded} /> : null}
      {editing ? <RuleDialog rule={editing === "new" ? null : editing} onClose={() => setEditing(null)} /> : null}
    </>
  );
}

function BuiltIn({ superseded }: Pick<RuleList, "superseded">) {
  const counted = countWords("matched", superseded.lastHour, superseded.lastDay);
  return (
    <section aria-label="Always" className="px-4 py-4">
      <h2 className="text-sm font-medium text-faint">Always</h2>
      <p>
        A version that arrives after a newer one of its aggregate was processed is marked as an older version, and the
        dry run refuses it. <span className="text-muted">{counted ?? "None in 24 hours"}.</span>
      </p>
      <p className="pt-2">
        Events that bear a mark:{" "}
        {ADMISSION_MARKS.map((mark, index) => (
          <span key={mark}>
            {index > 0 ? " · " : null}
            <Link href={eventsHref({ admission: [mark] })} prefetch={false} className="text-accent underline">
              {MARK_WORDS[mark]}
            </Link>
          </span>
        ))}
      </p>
    </section>
  );
}
