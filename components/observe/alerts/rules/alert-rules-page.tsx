"use client";

import { ResourcePage } from "@/components/resource/resource-page";
import { Button, NextPageButton } from "@/components/ui/button";
import { ConfirmButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { TextLink } from "@/components/ui/text-link";
import { alertRules, useAlertRules } from "@/lib/observe/alerts/alerts.browser";
import { sourcesOf } from "@/lib/observe/alerts/kinds/alert-kind.pure";
import { type AlertWatch, alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import type { AlertRuleOut } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { formatDuration, formatNumber } from "@/lib/platform/plain/format.pure";
import { SEVERITIES } from "@/lib/states/severity.pure";
import { SeverityBadge } from "../alert-looks";

const RuleDialog = lazily(() => import("./rule-dialog"), "RuleDialog");

export function AlertRulesPage() {
  const rules = useAlertRules();
  return (
    <ResourcePage
      title="Alert rules"
      meta={(items) =>
        `${formatNumber(items.filter(({ enabled }) => enabled).length)} of ${formatNumber(items.length)} on`
      }
      needs="change-alert"
      add="Add a rule…"
      read={rules}
      loading={{ rows: 8, columns: ["w-28", "flex-1", "w-24"] }}
      empty={{ title: "No rules yet", text: "Without a rule no alert fires." }}
      dialog={(rule, onClose) => <RuleDialog rule={rule} onClose={onClose} />}
    >
      {(items, edit) => (
        <>
          <ul aria-label="Alert rules" className="mx-3 rounded-lg border border-line bg-surface">
            {items.toSorted(enabledAndSevereFirst).map((rule) => (
              <Rule key={rule.id} rule={rule} onEdit={() => edit(rule)} />
            ))}
          </ul>
          <NextPageButton read={rules}>More rules</NextPageButton>
        </>
      )}
    </ResourcePage>
  );
}

const enabledAndSevereFirst = (left: AlertRuleOut, right: AlertRuleOut) =>
  Number(right.enabled) - Number(left.enabled) ||
  SEVERITIES.indexOf(left.severity) - SEVERITIES.indexOf(right.severity) ||
  left.name.localeCompare(right.name);

function Rule({ rule, onEdit }: { rule: AlertRuleOut; onEdit: () => void }) {
  const { id, name, severity, enabled, watch, fault, firing, version } = rule;
  const save = alertRules.usePatch(id);
  const remove = alertRules.useRemove();
  const names = sourcesOf(watch);
  const sources = names === null ? "" : ` · ${names.join(", ")}`;
  const may = { needs: "change-alert", everySource: names === null, size: "sm" } as const;
  return (
    <li
      id={id}
      className="grid grid-cols-[minmax(0,1fr)] items-center gap-x-3 gap-y-1 border-line px-3 py-2 not-first:border-t target:bg-selected sm:grid-cols-[minmax(0,1fr)_auto]"
    >
      <div className="grid min-w-0 gap-0.5">
        <div className="flex flex-wrap items-center gap-x-3">
          <h2 className={enabled ? "font-medium wrap-anywhere" : "wrap-anywhere text-muted"}>{name}</h2>
          <SeverityBadge severity={severity} quiet={!enabled} />
          {enabled ? null : <span className="text-sm text-muted">off</span>}
          {firing > 0 ? (
            <TextLink href={`/alerts?rule=${id}`} className="text-danger!">
              {formatNumber(firing)} firing
            </TextLink>
          ) : null}
        </div>
        <p className="wrap-anywhere">
          {alertKindOf(watch.kind).describe(watch)}
          {sources}
        </p>
        <p className="text-sm text-muted">{timesWords(watch)}</p>
        {fault === null ? null : <p className="text-sm text-warning wrap-anywhere">Not checked: {fault}</p>}
      </div>
      <div className="flex flex-wrap gap-1 sm:justify-end">
        <Button {...may} onClick={onEdit}>
          Edit…
        </Button>
        <ConfirmButton
          {...may}
          variant="ghost"
          confirm={{
            title: `Switch ${name} ${enabled ? "off" : "on"}?`,
            description:
              enabled && firing > 0
                ? "Its alerts are resolved, and the channels that received them get a message."
                : undefined,
            size: "sm",
            verb: enabled ? "Switch off" : "Switch on",
            reason: "optional",
            onSubmit: async (reason) => {
              await save.mutateAsync({ enabled: !enabled, version, ...(reason ? { reason } : {}) });
              return { title: `${name} is ${enabled ? "off" : "on"}`, tone: "success" };
            },
          }}
        >
          {enabled ? "Switch off…" : "Switch on…"}
        </ConfirmButton>
        <ConfirmButton
          {...may}
          variant="ghost"
          confirm={{
            title: `Delete ${name}?`,
            description: "Its alerts are resolved and stay on record; the channels that received them get a message.",
            size: "sm",
            variant: "danger",
            verb: "Delete",
            onSubmit: async (reason) => {
              await remove.mutateAsync({ id, reason });
              return { title: `Deleted ${name}`, tone: "success" };
            },
          }}
        >
          Delete…
        </ConfirmButton>
      </div>
    </li>
  );
}

function timesWords({ forMs, clearMs, repeatMs }: AlertWatch): string {
  const waits = forMs === 0 ? "at once" : `after ${formatDuration(forMs)}`;
  const ends = clearMs === 0 ? "resolves at once" : `resolves ${formatDuration(clearMs)} after its condition ends`;
  return `fires ${waits}, ${ends}, ${repeatMs === null ? "never repeated" : `repeated every ${formatDuration(repeatMs)}`}`;
}
