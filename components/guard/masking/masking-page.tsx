"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ConfirmButton, DialogButton } from "@/components/ui/dialog-button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast } from "@/components/ui/toast";
import { DETECTORS, type Detector, type MaskRule, masksOf } from "@/lib/guard/masking/mask-rule.pure";
import type { MaskRuleOut } from "@/lib/guard/masking/mask-rules.shapes";
import { maskRules, useMaskRules } from "@/lib/guard/masking/masking.browser";
import { MaskRuleDialog } from "./mask-rule-dialog";
import { MaskTester } from "./mask-tester";

const FINDS: Record<Detector, string> = {
  "secret-names": "values of fields with credential names: password, token, x-api-key",
  token:
    "Bearer and Basic credentials, JWTs, keys of well-known services, private keys, user names and passwords in URLs",
  card: "payment card numbers, detected by issuer and check digit",
  email: "e-mail addresses",
  iban: "IBANs, detected by country and check digits",
};

const KIND_WORDS = { pointer: "pointer", key: "name", detector: "detector" } as const;

export function MaskingPage() {
  const rules = useMaskRules();
  const items = rules.data?.items ?? [];
  return (
    <>
      <PageHeader
        title="Masking"
        meta="applied to everyone; revealing requires a reason"
        actions={
          <DialogButton
            variant="primary"
            needs="change-masks"
            dialog={(onClose) => <MaskRuleDialog rule={null} onClose={onClose} />}
          >
            Add a rule…
          </DialogButton>
        }
      />
      <ReadError read={rules} stale={rules.data !== undefined} />
      <div className="grid max-w-280 grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-6">
        {rules.isPending ? <SkeletonRows rows={4} columns={["w-28", "flex-1"]} /> : null}
        {rules.data ? <Detectors rules={items} /> : null}
        {rules.data ? (
          <Panel title="Rules" meta={items.length > 0 ? String(items.length) : undefined}>
            {items.length === 0 ? (
              <EmptyState title="No rules yet">
                The detectors above cover common formats. Add a rule for your own data: a name such as *address, or a
                pointer such as /customer/name.
              </EmptyState>
            ) : (
              <Rules items={items} />
            )}
          </Panel>
        ) : null}
        <MaskTester />
      </div>
    </>
  );
}

function Detectors({ rules }: { rules: readonly MaskRule[] }) {
  const everywhere = masksOf(rules.filter(({ source }) => source === null)).of("");
  return (
    <Panel title="Built-in detectors">
      <Table aria-label="Built-in detectors">
        <Head columns={["detector", "masks", "state"]} />
        <tbody>
          {DETECTORS.map((detector) => {
            const other = rules.filter(
              ({ kind, pattern, source }) => kind === "detector" && pattern === detector && source !== null,
            );
            return (
              <Tr key={detector}>
                <Td className="font-mono text-sm whitespace-nowrap">{detector}</Td>
                <Td className="w-full text-muted">{FINDS[detector]}</Td>
                <Td className="whitespace-nowrap">
                  {everywhere.detectors.has(detector) ? "on" : <span className="text-warning">off</span>}
                  {other.map(({ source, enabled }) => `, ${enabled ? "on" : "off"} for ${source}`).join("")}
                </Td>
              </Tr>
            );
          })}
        </tbody>
      </Table>
    </Panel>
  );
}

function Rules({ items }: { items: readonly MaskRuleOut[] }) {
  return (
    <Table aria-label="Rules">
      <Head columns={["by", "pattern", "source", "state", "changed", { unseen: "Actions" }]} />
      <tbody>
        {items.map((rule) => (
          <Tr key={rule.id}>
            <Td>{KIND_WORDS[rule.kind]}</Td>
            <Td className="w-full font-mono text-sm wrap-anywhere">{rule.pattern}</Td>
            <Td className="whitespace-nowrap">{rule.source ?? "all sources"}</Td>
            <Td>{rule.enabled ? "on" : <span className="text-warning">off</span>}</Td>
            <Td className="whitespace-nowrap text-muted">
              {rule.updatedBy}, <TimeAgo at={rule.updatedAt} />
            </Td>
            <Td className="whitespace-nowrap">
              <Actions rule={rule} />
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

function Actions({ rule }: { rule: MaskRuleOut }) {
  const { id, source, pattern, enabled } = rule;
  const [switching, setSwitching] = useState(false);
  const change = maskRules.usePatch(id);
  const remove = maskRules.useRemove();
  const may = { size: "sm", variant: "ghost", needs: "change-masks", everySource: source === null } as const;
  const confirm = (verb: string, run: () => Promise<unknown>) => ({
    title: `${verb} the rule for ${pattern}?`,
    description: `What it masks in ${source ?? "all sources"} becomes visible to everyone at once.`,
    verb,
    variant: "danger" as const,
    reason: "none" as const,
    onSubmit: async () => void (await run()),
  });
  const switchOn = () =>
    change.mutate({ enabled: true }, { onError: (error) => failureToast("The rule was not changed", error) });
  return (
    <>
      <Button {...may} onClick={enabled ? () => setSwitching(true) : switchOn}>
        {enabled ? "Switch off…" : "Switch on"}
      </Button>
      {switching ? (
        <ReasonDialog
          {...confirm("Switch off", () => change.mutateAsync({ enabled: false }))}
          needs="change-masks"
          everySource={source === null}
          onClose={() => setSwitching(false)}
        />
      ) : null}
      <DialogButton {...may} dialog={(onClose) => <MaskRuleDialog rule={rule} onClose={onClose} />}>
        Change…
      </DialogButton>
      <ConfirmButton
        {...may}
        aria-label={`Delete the rule for ${pattern}`}
        confirm={confirm("Delete", () => remove.mutateAsync({ id }))}
      >
        Delete…
      </ConfirmButton>
    </>
  );
}
