"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useSettings } from "@/lib/guard/settings/settings.browser";

const ConfirmationsDialog = lazily(() => import("./confirmations-dialog"), "ConfirmationsDialog");

/** Where Parkade announces confirmed events, beside the targets that redrives go to. */
export function ConfirmationsPanel() {
  const settings = useSettings();
  const [editing, setEditing] = useState(false);
  const url = settings.data?.confirmedUrl ?? null;
  return (
    <Panel
      title="Confirmations"
      meta="for every source"
      actions={
        <Button
          needs="change-settings"
          everySource
          size="sm"
          disabled={!settings.data}
          onClick={() => setEditing(true)}
        >
          {url === null ? "Set an address…" : "Edit…"}
        </Button>
      }
      bodyClassName="px-3 pt-1 pb-3"
    >
      <ReadError read={settings} stale={settings.data !== undefined} />
      {settings.isPending ? <SkeletonRows rows={1} columns={["flex-1"]} /> : null}
      {settings.data ? (
        <p className="text-muted">
          {url === null ? (
            "Confirmed events are announced nowhere."
          ) : (
            <>
              Each confirmed event is announced to{" "}
              <span className="font-mono text-sm text-ink wrap-anywhere">{url}</span>
            </>
          )}
        </p>
      ) : null}
      {editing ? <ConfirmationsDialog url={url} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}
