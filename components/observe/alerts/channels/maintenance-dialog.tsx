"use client";

import { useState } from "react";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useBeginMaintenance } from "@/lib/observe/channels/channels.browser";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";

const HOURS = [1, 2, 4, 8, 24, 72, 168];
const OPTIONS = HOURS.map((hours) => ({
  value: String(hours),
  label: hours < 24 ? `${hours} h` : `${hours / 24} d`,
}));

/** Begins a time in which nobody is notified. It expires. */
export function MaintenanceDialog({ onClose }: { onClose: () => void }) {
  const [hours, setHours] = useState("1");
  const [sources, setSources] = useState("");
  const begin = useBeginMaintenance();
  const now = useNow();
  const named = sources.split(",").flatMap((name) => name.trim() || []);
  return (
    <ReasonDialog
      needs="change-alert"
      everySource={named.length === 0}
      title="Start a maintenance window"
      description="Alerts fire and are shown in the console, but no messages are sent. Messages about those still firing at the end are sent then."
      size="sm"
      verb="Start"
      ready={() => now > 0}
      onClose={onClose}
      onSubmit={async (reason) => {
        const until = new Date(now + Number(hours) * 3_600_000).toISOString();
        await begin.mutateAsync({ sources: named.length === 0 ? null : named, until, reason });
        return { title: "No messages until the maintenance ends", tone: "success" };
      }}
    >
      <div className="grid gap-3">
        <SelectField label="Duration" options={OPTIONS} value={hours} onValue={setHours} />
        <TextField
          label="Sources"
          optional
          placeholder="orders, billing"
          hint="Leave empty for all sources."
          value={sources}
          onValue={setSources}
        />
      </div>
    </ReasonDialog>
  );
}
