"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangeSettings } from "@/lib/guard/settings/settings.browser";
import type { SettingOut } from "@/lib/guard/settings/settings.shapes";
import { limitText, limitUnit, limitValue, limitWords } from "./limit-values";

/** Only changed limits are sent, so that two operators who change two limits do not undo each other. */
export function LimitsDialog({ settings, onClose }: { settings: SettingOut[]; onClose: () => void }) {
  const [typed, setTyped] = useState<Record<string, string>>({});
  const save = useChangeSettings();
  const changed = settings.filter((setting) => typed[setting.name] !== undefined);
  const wrong = changed.filter((setting) => limitValue(setting, typed[setting.name]!) === null);

  return (
    <ReasonDialog
      needs="change-settings"
      everySource
      title="Automatic limits"
      description="Changes apply at once, including to running redrives."
      verb="Save"
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        if (wrong.length > 0) return "stay";
        if (changed.length === 0) return;
        const values = Object.fromEntries(
          changed.map((setting) => [setting.name, limitValue(setting, typed[setting.name]!)!]),
        );
        await save.mutateAsync({ settings: values, reason });
        return { title: "Limits changed", tone: "success" };
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {settings.map((setting) => {
          const unit = limitUnit(setting.name);
          const bounds = `${limitWords(setting.name, setting.min)} to ${limitWords(setting.name, setting.max)}`;
          return (
            <TextField
              key={setting.name}
              label={`${setting.text.replace(/, (ms|bytes)$/, "")}${unit === "" ? "" : `, ${unit}`}`}
              hint={`by default ${limitWords(setting.name, setting.initial)}`}
              error={wrong.includes(setting) ? `A number, ${bounds}.` : undefined}
              inputMode="decimal"
              value={typed[setting.name] ?? limitText(setting.name, setting.value)}
              onValue={(value) => setTyped({ ...typed, [setting.name]: value })}
            />
          );
        })}
      </div>
    </ReasonDialog>
  );
}
