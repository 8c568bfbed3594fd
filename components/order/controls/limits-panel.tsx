"use client";

import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { ReadState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { useSettings } from "@/lib/guard/settings/settings.browser";
import { limitWords } from "./limit-values";

const LimitsDialog = lazily(() => import("./limits-dialog"), "LimitsDialog");

/** The limits by which Parkade imposes a control or refuses a send by itself. */
export function LimitsPanel() {
  const settings = useSettings();
  return (
    <Panel
      title="Automatic limits"
      meta="apply to every redrive"
      actions={
        <DialogButton
          needs="change-settings"
          everySource
          size="sm"
          disabled={!settings.data}
          dialog={(onClose) => <LimitsDialog settings={settings.data!.items} onClose={onClose} />}
        >
          Edit…
        </DialogButton>
      }
    >
      <ReadState read={settings} loading={{ rows: 3, columns: ["w-20", "flex-1"] }} />
      {settings.data ? (
        <dl className="grid gap-x-8 gap-y-1.5 px-3 pt-1 pb-3 sm:grid-cols-2 lg:grid-cols-3">
          {settings.data.items.map((setting) => (
            <div key={setting.name} className="flex items-baseline gap-2">
              <dd className="min-w-16 text-right font-medium">{limitWords(setting.name, setting.value)}</dd>
              <dt className="text-muted">{setting.text.replace(/, (ms|bytes)$/, "")}</dt>
            </div>
          ))}
        </dl>
      ) : null}
    </Panel>
  );
}
