"use client";

import { type ComponentProps, useState } from "react";
import { Button } from "@/components/ui/button";
import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { itemsOf, type ListRead, ListState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { plural } from "@/lib/platform/plain/format.pure";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";
import { PolicySummary } from "./policy-summary";
import { backoffWords, policyView, preciseDuration } from "./policy-view";

const PolicyDialog = lazily(() => import("./policy-dialog"), "PolicyDialog");

/** The versioned policies: attempts, timeouts, backoff. A redrive keeps the version that it began with. */
export function PolicySection({ policies }: { policies: ListRead<PolicyOut> }) {
  const items = itemsOf(policies);
  const dialogOf = (from: PolicyOut, isNew: boolean) => (onClose: () => void) => (
    <PolicyDialog from={from} isNew={isNew} taken={items.map(({ name }) => name)} onClose={onClose} />
  );
  return (
    <Panel
      title={<span id="policies">Policies</span>}
      meta="running redrives keep their attempts and delays; breaker, budget and healing change at once"
      actions={
        <DialogButton
          needs="change-policy"
          everySource
          size="sm"
          disabled={items.length === 0}
          dialog={dialogOf(items[0]!, true)}
        >
          New policy…
        </DialogButton>
      }
    >
      <ListState read={policies} loading={{ rows: 3, columns: ["w-28", "flex-1", "w-24"] }} none={null} />
      <ul>
        {items.map((policy) => (
          <Policy key={policy.name} policy={policy} dialog={dialogOf(policy, false)} />
        ))}
      </ul>
    </Panel>
  );
}

function Policy({ policy, dialog }: { policy: PolicyOut } & Pick<ComponentProps<typeof DialogButton>, "dialog">) {
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
            {open ? "Hide" : "Show schedule"}
          </Button>
          <DialogButton needs="change-policy" everySource size="sm" dialog={dialog}>
            Edit…
          </DialogButton>
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
