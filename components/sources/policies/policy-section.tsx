"use client";

import type { UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TimeAgo } from "@/components/ui/time-ago";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";
import { PolicySummary } from "./policy-summary";
import { backoffWords, policyView, preciseDuration } from "./policy-view";

const PolicyDialog = lazily(() => import("./policy-dialog"), "PolicyDialog");

type Policies = UseQueryResult<{ items: PolicyOut[] }, ApiError>;

/** The versioned policies: attempts, timeouts, backoff. A redrive keeps the version that it began with. */
export function PolicySection({ policies }: { policies: Policies }) {
  const [editing, setEditing] = useState<PolicyOut | "new" | null>(null);
  const items = policies.data?.items ?? [];
  return (
    <Panel
      title={<span id="policies">Policies</span>}
      meta="a running redrive keeps its attempts and delays; breaker, budget and healing follow at once"
      actions={
        <Button
          needs="change-policy"
          everySource
          size="sm"
          disabled={items.length === 0}
          onClick={() => setEditing("new")}
        >
          New policy…
        </Button>
      }
    >
      <ReadError read={policies} stale={items.length > 0} />
      {policies.isPending ? <SkeletonRows rows={3} columns={["w-28", "flex-1", "w-24"]} /> : null}
      <ul>
        {items.map((policy) => (
          <Policy key={policy.name} policy={policy} onEdit={() => setEditing(policy)} />
        ))}
      </ul>
      {editing ? (
        <PolicyDialog
          from={editing === "new" ? items[0]! : editing}
          isNew={editing === "new"}
          taken={items.map((policy) => policy.name)}
          onClose={() => setEditing(null)}
        />
      ) : null}
    </Panel>
  );
}

function Policy({ policy, onEdit }: { policy: PolicyOut; onEdit: () => void }) {
  const [open, setOpen] = useState(false);
  const view = policyView(policy.body);
  return (
    <li id={`policy-${policy.name}`} className="scroll-mt-4 border-t border-line px-3 py-2 target:bg-selected">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h3 className="font-mono font-medium">
          {policy.name} <span className="font-normal text-muted">v{policy.version}</span>
        </h3>
        {view.ok ? (
          <p className="min-w-0 text-muted">
            {plural(view.policy.maxAttempts, "attempt")} of {preciseDuration(view.policy.attemptTimeoutMs)},{" "}
            {backoffWords(view.policy.backoff, preciseDuration)}; at most {preciseDuration(view.upperBoundMs)}
          </p>
        ) : (
          <p className="text-danger">cannot run: {view.problems.map((problem) => problem.field).join(", ")}</p>
        )}
        <div className="ml-auto flex gap-2">
          <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Hide" : "Schedule"}
          </Button>
          <Button needs="change-policy" everySource size="sm" onClick={onEdit}>
            Edit…
          </Button>
        </div>
      </div>
      <p className="text-sm text-muted">
        {policy.usedBy.length === 0 ? "used by no target" : `used by ${policy.usedBy.join(", ")}`}
        {policy.createdAt === null ? (
          " · built in"
        ) : (
          <>
            {" "}
            · by {policy.createdBy} <TimeAgo at={policy.createdAt} />
            {policy.reason ? `: ${policy.reason.slice(0, 120)}` : null}
          </>
        )}
      </p>
      {open ? (
        <div className="pt-3 pb-1">
          <PolicySummary view={view} />
        </div>
      ) : null}
    </li>
  );
}
