"use client";

import { useDeferredValue, useState } from "react";
import { CodeTextarea, Field, TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { usePolicyVersions, useSavePolicy } from "@/lib/sources/targets/targets.browser";
import type { PolicyOut } from "@/lib/sources/targets/targets.shapes";
import { PolicySummary } from "./policy-summary";
import { parseBody, policyView } from "./policy-view";

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Creates a version of a policy, as JSON, and shows its limits while the person types. */
export function PolicyDialog(props: { from: PolicyOut; isNew: boolean; taken: string[]; onClose: () => void }) {
  const { from, isNew, taken, onClose } = props;
  const [name, setName] = useState(isNew ? "" : from.name);
  const [text, setText] = useState(() => JSON.stringify(from.body, null, 2));
  const versions = usePolicyVersions(from.name, !isNew);
  const save = useSavePolicy();

  // Deferred, so that typing stays fast even when a thousand attempts are drawn.
  const parsed = parseBody(useDeferredValue(text));
  const view = parsed.ok ? policyView(parsed.body) : null;
  const nameError = NAME.test(name)
    ? isNew && taken.includes(name)
      ? "There is a policy of this name: edit it instead."
      : undefined
    : "Lower-case letters, digits and dashes, at most 63.";

  return (
    <ReasonDialog
      title={isNew ? "New policy" : `Edit ${from.name}`}
      description="Stored as a new version. Redrives that run keep their attempts and delays; breaker, budget and healing follow at once."
      size="lg"
      verb="Store version"
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
                  if (chosen) setText(JSON.stringify(chosen.body, null, 2));
                }}
              />
            ) : null}
          </div>
          <Field label="Policy, JSON; times in milliseconds" error={parsed.ok ? undefined : parsed.detail}>
            {(control) => (
              <CodeTextarea {...control} rows={14} value={text} onChange={(event) => setText(event.target.value)} />
            )}
          </Field>
          {view ? <PolicySummary view={view} /> : null}
        </>
      )}
    </ReasonDialog>
  );
}

function versionOption(version: PolicyOut) {
  const why = version.version === 0 ? "built in" : (version.reason ?? "").slice(0, 60);
  return { value: String(version.version), label: `version ${version.version}${why ? `, ${why}` : ""}` };
}
