"use client";

import { useDeferredValue, useState } from "react";
import { AssertionList, countText, ResultWord } from "@/components/sources/contracts/assertion-list";
import type { Config } from "@/components/sources/form/source-draft";
import { CodeField, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { Tabs } from "@/components/ui/tabs";
import { POLICY_PRESETS, type Policy } from "@/lib/retry/policy";
import {
  CONTRACT_DEFAULTS,
  contractFacts,
  contractReport,
  contractTerms,
  NO_REPEATS,
} from "@/lib/sources/contracts/contract.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { usePolicyVersions, useSavePolicy, useTargets } from "@/lib/sources/targets/targets.browser";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";
import { PRESET_NAMES, PRESET_WORDS, type PresetName } from "./policy-fields";
import { PolicyForm } from "./policy-form";
import { PolicySummary } from "./policy-summary";
import { parseBody, policyView } from "./policy-view";

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

const textOf = (body: unknown) => JSON.stringify(body, null, 2);

/**
 * Creates a version of a policy: the fields that are changed on call, or all of it as JSON. Both show one text, so that saving the
 * fields keeps every other value; its limits and the contracts of its targets follow while the person types.
 */
export function PolicyDialog(props: { from: PolicyOut; isNew: boolean; taken: string[]; onClose: () => void }) {
  const { from, isNew, taken, onClose } = props;
  const [name, setName] = useState(isNew ? "" : from.name);
  const [tab, setTab] = useState("fields");
  /** null = as it is stored. */
  const [preset, setPreset] = useState<PresetName | null>(isNew ? "slow-lane" : null);
  const [text, setText] = useState(() => textOf(preset === null ? from.body : POLICY_PRESETS[preset]));
  const versions = usePolicyVersions(from.name, !isNew);
  const save = useSavePolicy();

  const parsed = parseBody(text);
  // Deferred, so that typing stays fast even when a thousand attempts are drawn.
  const drawn = parseBody(useDeferredValue(text));
  const view = drawn.ok ? policyView(drawn.body) : null;
  const nameError = NAME.test(name)
    ? isNew && taken.includes(name)
      ? "A policy with this name already exists: edit that one instead."
      : undefined
    : "Lower-case letters, digits and dashes, at most 63.";
  const problems = parsed.ok ? problemsOf(parsed.body) : [];

  return (
    <ReasonDialog
      needs="change-policy"
      everySource
      title={isNew ? "New policy" : `Edit ${from.name}`}
      description="Stored as a new version. Running redrives keep their attempts and delays; breaker, budget and healing change at once."
      size="xl"
      verb="Save version"
      keep="Close"
      ready={() => view === null || view.ok}
      onClose={onClose}
      onSubmit={async (reason) => {
        const current = parseBody(text);
        if (!current.ok || !policyView(current.body).ok || nameError) return "stay";
        await save.mutateAsync({ name, body: current.body, reason });
        return { title: `Stored a new version of ${name}`, tone: "success" };
      }}
    >
      {(pressed) => (
        <>
          <div className="flex flex-wrap items-start gap-4">
            <SelectField
              label="Preset"
              hint="replaces all values"
              options={[
                ...(preset === null ? [{ value: "", label: "none: as it is stored" }] : []),
                ...PRESET_NAMES.map((value) => ({ value, label: PRESET_WORDS[value] })),
              ]}
              value={preset ?? ""}
              onValue={(value) => {
                setPreset(value as PresetName);
                setText(textOf(POLICY_PRESETS[value as PresetName]));
              }}
            />
            {isNew ? (
              <TextField
                label="Name"
                error={pressed ? nameError : undefined}
                className="w-64"
                inputClassName="font-mono"
                value={name}
                onValue={setName}
              />
            ) : null}
            {versions.data && versions.data.items.length > 1 ? (
              <SelectField
                label="Start from"
                defaultValue={String(from.version)}
                options={versions.data.items.map(versionOption)}
                onValue={(value) => {
                  const chosen = versions.data.items.find((each) => String(each.version) === value);
                  if (chosen) setText(textOf(chosen.body));
                }}
              />
            ) : null}
          </div>
          <div className="grid grid-cols-[minmax(0,1fr)] gap-4 lg:grid-cols-[minmax(0,1fr)_20rem] lg:items-start">
            <Tabs
              label="Policy"
              value={tab}
              onChange={setTab}
              panelClassName="pt-3"
              tabs={[
                {
                  id: "fields",
                  label: "Fields",
                  content: parsed.ok ? (
                    <PolicyForm body={parsed.body} problems={problems} onBody={(body) => setText(textOf(body))} />
                  ) : (
                    <p className="text-danger">The JSON cannot be read: {parsed.detail}</p>
                  ),
                },
                {
                  id: "json",
                  label: "As JSON",
                  content: (
                    <CodeField
                      label="Policy, JSON; times in milliseconds"
                      error={parsed.ok ? undefined : parsed.detail}
                      rows={24}
                      value={text}
                      onValue={setText}
                    />
                  ),
                },
              ]}
            />
            <div className="lg:sticky lg:top-0">
              {view?.ok ? (
                <Report policy={view.policy} bound={view.upperBoundMs} usedBy={isNew ? null : from.usedBy} />
              ) : null}
              {view?.ok === false ? <PolicySummary view={view} /> : null}
            </div>
          </div>
          {view?.ok ? <PolicySummary view={view} /> : null}
        </>
      )}
    </ReasonDialog>
  );
}

function problemsOf(body: Config) {
  const view = policyView(body);
  return view.ok ? [] : view.problems;
}

/** What the contract of a target becomes under the policy. `usedBy` null = a new policy, which any target may use. */
function Report({ policy, bound, usedBy }: { policy: Policy; bound: number; usedBy: string[] | null }) {
  const targets = useTargets();
  const items = targets.data?.items.filter(({ name }) => usedBy === null || usedBy.includes(name)) ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const target =
    items.find(({ name }) => name === chosen) ?? items.find(({ contract }) => contract !== null) ?? items[0];
  if (target === undefined) return <p className="text-sm text-muted">No target uses it, so no contract is checked.</p>;
  const report = reportUnder(policy, bound, target);
  return (
    <section
      aria-label="Contract report"
      className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md border border-line p-3"
    >
      <SelectField
        label="Contract of"
        inputClassName="min-w-0 w-full"
        options={items.map(({ name, contract }) => ({
          value: name,
          label: contract === null ? `${name} (no contract)` : name,
        }))}
        value={target.name}
        onValue={setChosen}
      />
      <p className="flex flex-wrap items-baseline gap-x-2 text-sm">
        <ResultWord result={report.result} />
        <span className="text-muted">{countText(report)}</span>
      </p>
      <AssertionList assertions={report.assertions} />
    </section>
  );
}

function reportUnder(policy: Policy, bound: number, target: TargetOut) {
  return contractReport({
    contract: target.contract ?? CONTRACT_DEFAULTS,
    terms: contractTerms(policy, bound, target),
    facts: contractFacts(target.engine, target.sentPerSecondNow ?? 0, NO_REPEATS),
  });
}

function versionOption(version: PolicyOut) {
  const why = version.version === 0 ? "built in" : (version.reason ?? "").slice(0, 60);
  return { value: String(version.version), label: `version ${version.version}${why ? `, ${why}` : ""}` };
}
