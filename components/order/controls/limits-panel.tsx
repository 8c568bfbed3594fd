"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useSettings } from "@/lib/guard/settings/settings.browser";
import { limitWords } from "./limit-values";

const LimitsDialog = lazily(() => import("./limits-dialog"), "LimitsDialog");

/** The limits by which Parkade imposes a control or refuses a send by itself. */
export function LimitsPanel() {
  const settings = useSettings();
  const [editing, setEditing] = useState(false);
  return (
    <Panel
      title="Automatic limits"
      meta="hold for every redrive"
      actions={
        <Button
          needs="change-settings"
          everySource
          size="sm"
          disabled={!settings.data}
          onClick={() => setEditing(true)}
        >
          Edit…
        </Button>
      }
    >
      <ReadError read={settings} stale={settings.data !== undefined} />
      {settings.isPending ? <SkeletonRows rows={3} columns={["w-20", "flex-1"]} /> : null}
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
      {editing && settings.data ? (
        <LimitsDialog settings={settings.data.items} onClose={() => setEditing(false)} />
      ) : null}
    </Panel>
  );
}
