"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { useChangeSettings } from "@/lib/guard/settings/settings.browser";
import { confirmedUrlFault } from "@/lib/guard/settings/settings.pure";

/** `url` has its tokens masked, so only an address that was typed is sent. */
export function ConfirmationsDialog({ url, onClose }: { url: string | null; onClose: () => void }) {
  const [typed, setTyped] = useState(url ?? "");
  const save = useChangeSettings();
  const address = typed.trim();
  const isChanged = address !== (url ?? "");
  const refused = save.error?.fields?.find(({ field }) => field === "confirmedUrl")?.detail;
  const fault = isChanged && address !== "" ? confirmedUrlFault(address) : null;
  return (
    <ReasonDialog
      needs="change-settings"
      everySource
      title="Confirmations"
      description="A worker posts each confirmed event to this address, at least once. The message is signed when PARKADE_SECRET_CONFIRMED is set for the worker."
      verb="Save"
      keep="Close"
      onClose={onClose}
      onSubmit={async (reason) => {
        if (fault !== null) return "stay";
        if (!isChanged) return;
        await save.mutateAsync({ settings: {}, confirmedUrl: address === "" ? null : address, reason });
        return {
          title: address === "" ? "Confirmations are no longer sent" : "Confirmations go to the new address",
          tone: "success",
        };
      }}
    >
      {(pressed) => (
        <TextField
          label="Address"
          hint={
            url !== null && address === ""
              ? "Confirmations stop, and messages queued for the address are deleted."
              : "Such as https://orders.example/parkade; with a token, env:PARKADE_SECRET_NAME. Leave empty to send no confirmations."
          }
          error={pressed && fault !== null ? `The address ${fault}.` : refused && `The address ${refused}.`}
          inputMode="url"
          inputClassName="font-mono"
          value={typed}
          onValue={setTyped}
        />
      )}
    </ReasonDialog>
  );
}
