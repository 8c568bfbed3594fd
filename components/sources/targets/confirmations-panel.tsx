"use client";

import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { ReadState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { useSettings } from "@/lib/guard/settings/settings.browser";

const ConfirmationsDialog = lazily(() => import("./confirmations-dialog"), "ConfirmationsDialog");

/** Where Parkade announces confirmed events, beside the targets that redrives go to. */
export function ConfirmationsPanel() {
  const settings = useSettings();
  const url = settings.data?.confirmedUrl ?? null;
  return (
    <Panel
      title="Confirmations"
      meta="for all sources"
      actions={
        <DialogButton
          needs="change-settings"
          everySource
          size="sm"
          disabled={!settings.data}
          dialog={(onClose) => <ConfirmationsDialog url={url} onClose={onClose} />}
        >
          {url === null ? "Set an address…" : "Edit…"}
        </DialogButton>
      }
      bodyClassName="px-3 pt-1 pb-3"
    >
      <ReadState read={settings} loading={{ rows: 1, columns: ["flex-1"] }} />
      {settings.data ? (
        <p className="text-muted">
          {url === null ? (
            "Confirmations are not sent anywhere."
          ) : (
            <>
              A confirmation of each event is sent to{" "}
              <span className="font-mono text-sm text-ink wrap-anywhere">{url}</span>
            </>
          )}
        </p>
      ) : null}
    </Panel>
  );
}
