"use client";

import { useState } from "react";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Field, Input, Textarea } from "@/components/ui/input";
import { showToast } from "@/components/ui/toast";
import { useChangeSettings } from "@/lib/browser/settings";
import type { SettingOut } from "@/lib/contract/targets";
import { limitText, limitUnit, limitValue, limitWords } from "./limit-values";

/** Only what was changed is sent: two operators who change two limits do not undo each other. */
export function LimitsDialog({ settings, onClose }: { settings: SettingOut[]; onClose: () => void }) {
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [reason, setReason] = useState("");
  const [pressed, setPressed] = useState(false);
  const save = useChangeSettings();
  const changed = settings.filter((setting) => typed[setting.name] !== undefined);
  const wrong = changed.filter((setting) => limitValue(setting, typed[setting.name]!) === null);

  const submit = async () => {
    setPressed(true);
    if (wrong.length > 0 || reason.trim() === "") return;
    if (changed.length === 0) return onClose();
    const values = Object.fromEntries(
      changed.map((setting) => [setting.name, limitValue(setting, typed[setting.name]!)!]),
    );
    try {
      await save.mutateAsync({ settings: values, reason: reason.trim() });
    } catch {
      return; // shown from save.error
    }
    onClose();
    void showToast({ title: "Limits changed", tone: "success" });
  };

  return (
    <Dialog
      title="Automatic limits"
      description="They hold at once, also for redrives that run."
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <ActionButton variant="primary" type="submit" form="limits" busy={save.isPending}>
            Save
          </ActionButton>
        </>
      }
    >
      <form
        id="limits"
        className="grid gap-4 sm:grid-cols-2"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {save.isError ? (
          <div className="sm:col-span-2">
            <ErrorPanel error={save.error} inline title="This was not done" />
          </div>
        ) : null}
        {settings.map((setting) => {
          const unit = limitUnit(setting.name);
          const bounds = `${limitWords(setting.name, setting.min)} to ${limitWords(setting.name, setting.max)}`;
          return (
            <Field
              key={setting.name}
              label={`${setting.text.replace(/, (ms|bytes)$/, "")}${unit === "" ? "" : `, ${unit}`}`}
              hint={`by default ${limitWords(setting.name, setting.initial)}`}
              error={wrong.includes(setting) ? `A number, ${bounds}.` : undefined}
            >
              {(control) => (
                <Input
                  {...control}
                  inputMode="decimal"
                  value={typed[setting.name] ?? limitText(setting.name, setting.value)}
                  onChange={(event) => setTyped({ ...typed, [setting.name]: event.target.value })}
                />
              )}
            </Field>
          );
        })}
        <Field
          label="Reason"
          className="sm:col-span-2"
          error={pressed && reason.trim() === "" ? "Say why: the reason is kept in the audit." : undefined}
        >
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
      </form>
    </Dialog>
  );
}
