"use client";

import { useDeferredValue, useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input, Textarea } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { showToast } from "@/components/ui/toast";
import { usePolicyVersions, useSavePolicy } from "@/lib/browser/targets";
import type { PolicyOut } from "@/lib/contract/targets";
import { PolicySummary } from "./policy-summary";
import { parseBody, policyView } from "./policy-view";

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** A new version of a policy, as JSON, with its promises worked out while it is typed. */
export function PolicyDialog(props: { from: PolicyOut; isNew: boolean; taken: string[]; onClose: () => void }) {
  const { from, isNew, taken, onClose } = props;
  const [name, setName] = useState(isNew ? "" : from.name);
  const [text, setText] = useState(() => JSON.stringify(from.body, null, 2));
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const versions = usePolicyVersions(from.name, !isNew);
  const save = useSavePolicy();

  // Typing stays quick also where a thousand attempts are to be laid out.
  const parsed = parseBody(useDeferredValue(text));
  const view = parsed.ok ? policyView(parsed.body) : null;
  const errors = {
    name: NAME.test(name)
      ? isNew && taken.includes(name)
        ? "There is a policy of this name: edit it instead."
        : undefined
      : "Lower-case letters, digits and dashes, at most 63.",
    reason: reason.trim() === "" ? "Say why: the reason is kept in the audit." : undefined,
  };

  const submit = async () => {
    setPressed(true);
    const current = parseBody(text);
    if (!current.ok || !policyView(current.body).ok || errors.name || errors.reason) return;
    try {
      await save.mutateAsync({ name, body: current.body, reason: reason.trim() });
    } catch {
      return; // shown from save.error
    }
    onClose();
    void showToast({ title: `Stored a new version of ${name}`, tone: "success" });
  };

  return (
    <Dialog
      title={isNew ? "New policy" : `Edit ${from.name}`}
      description="Stored as a new version. Redrives that run keep the version they started with."
      size="lg"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <ActionButton variant="primary" busy={save.isPending} disabled={view !== null && !view.ok} onClick={submit}>
            Store version
          </ActionButton>
        </>
      }
    >
      <div className="grid gap-4">
        {save.isError ? <ErrorPanel error={save.error} inline title="This was not done" /> : null}
        <div className="flex flex-wrap items-start gap-4">
          {isNew ? (
            <Field label="Name" error={pressed ? errors.name : undefined} className="w-64">
              {(control) => (
                <Input
                  {...control}
                  className="font-mono"
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
          ) : null}
          {versions.data && versions.data.items.length > 1 ? (
            <Field label="Start from">
              {(control) => (
                <Select
                  {...control}
                  defaultValue={String(from.version)}
                  options={versions.data.items.map(versionOption)}
                  onChange={(event) => {
                    const chosen = versions.data.items.find((each) => String(each.version) === event.target.value);
                    if (chosen) setText(JSON.stringify(chosen.body, null, 2));
                  }}
                />
              )}
            </Field>
          ) : null}
        </div>
        <Field label="Policy, JSON; times in milliseconds" error={parsed.ok ? undefined : parsed.detail}>
          {(control) => (
            <Textarea
              {...control}
              rows={14}
              spellCheck={false}
              className="font-mono text-sm"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {view ? <PolicySummary view={view} /> : null}
        <Field label="Reason" error={pressed ? errors.reason : undefined}>
          {(control) => (
            <Textarea
              {...control}
              rows={2}
              maxLength={2_000}
              value={reason}
              onChange={(event) => setReason(event.target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}

function versionOption(version: PolicyOut) {
  const why = version.version === 0 ? "built in" : (version.reason ?? "").slice(0, 60);
  return { value: String(version.version), label: `version ${version.version}${why ? `, ${why}` : ""}` };
}
