"use client";

import { useSearchParams } from "next/navigation";
import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { lazily } from "@/components/ui/lazily";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { useAlertRules, useAlerts } from "@/lib/observe/alerts/alerts.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { AlertRow } from "./alert-row";

const AcknowledgeDialog = lazily(() => import("./acknowledge-dialog"), "AcknowledgeDialog");

/** What is wrong now, worst acknowledged last; below it what was. `?rule=` shows the alerts of one rule. */
export function AlertsPage() {
  const rule = useSearchParams().get("rule") ?? undefined;
  const scope = rule === undefined ? {} : { rule };
  const firing = useAlerts("firing", scope);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [asking, setAsking] = useState<readonly string[] | null>(null);
  const items = itemsOf(firing);
  const shown = items.filter(({ id }) => selected.has(id)).map(({ id }) => id);
  const open = items.filter(({ acknowledgedBy }) => acknowledgedBy === null);
  const toggle = (id: string, on: boolean) => {
    const next = new Set(selected);
    if (on) next.add(id);
    else next.delete(id);
    setSelected(next);
  };
  return (
    <>
      <PageHeader
        title="Alerts"
        meta={firing.data ? `${formatNumber(items.length)}${firing.hasNextPage ? "+" : ""} firing` : undefined}
        actions={rule === undefined ? null : <LinkButton href="/alerts">All rules</LinkButton>}
      />
      <ListState read={firing} loading={{ rows: 4, columns: ["w-28", "flex-1", "w-24"] }} none={<NothingFires />} />
      {items.length === 0 ? null : (
        <Panel
          className="mx-3"
          title="Firing"
          actions={
            <>
              <ActionButton
                needs="acknowledge"
                size="sm"
                disabled={shown.length === 0}
                onClick={() => setAsking(shown)}
              >
                Acknowledge {shown.length === 0 ? "…" : `${formatNumber(shown.length)}…`}
              </ActionButton>
              <Button
                size="sm"
                variant="ghost"
                disabled={open.length === 0}
                onClick={() =>
                  setSelected(shown.length === open.length ? new Set() : new Set(open.map(({ id }) => id)))
                }
              >
                {open.length > 0 && shown.length === open.length
                  ? "Select none"
                  : `Select ${formatNumber(open.length)} unacknowledged`}
              </Button>
            </>
          }
        >
          <ul aria-label="Firing alerts">
            {items.map((alert) => (
              <AlertRow
                key={alert.id}
                alert={alert}
                selected={selected.has(alert.id)}
                onSelected={(on) => toggle(alert.id, on)}
              />
            ))}
          </ul>
          <NextPageButton read={firing}>More alerts</NextPageButton>
        </Panel>
      )}
      <Resolved scope={scope} />
      {asking === null ? null : (
        <AcknowledgeDialog
          ids={asking}
          onClose={() => {
            setAsking(null);
            setSelected(new Set());
          }}
        />
      )}
    </>
  );
}

/** "Nothing fires" says only what is watched. */
function NothingFires() {
  const rules = useAlertRules();
  const all = itemsOf(rules);
  const on = all.filter(({ enabled }) => enabled);
  const blind = on.filter(({ fault }) => fault !== null);
  return (
    <EmptyState title="No alerts firing" action={<LinkButton href="/alerts/rules">Rules</LinkButton>}>
      {rules.isSuccess
        ? `${plural(on.length, "rule is", "rules are")} switched on${blind.length === 0 ? " and checked every ten seconds" : `; ${plural(blind.length, "cannot be checked", "cannot be checked")} now`}.`
        : "Rules are checked every ten seconds."}
    </EmptyState>
  );
}

function Resolved({ scope }: { scope: { rule?: string } }) {
  const resolved = useAlerts("resolved", scope);
  const items = itemsOf(resolved);
  if (resolved.isSuccess && items.length === 0) return null;
  return (
    <Panel className="m-3" title="Resolved" meta="kept for 90 days">
      <ListState read={resolved} loading={{ rows: 3, columns: ["w-28", "flex-1", "w-24"] }} none={null} />
      <ul aria-label="Resolved alerts">
        {items.map((alert) => (
          <AlertRow key={alert.id} alert={alert} />
        ))}
      </ul>
      <NextPageButton read={resolved}>Older</NextPageButton>
    </Panel>
  );
}
