"use client";

import { useState } from "react";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { failureToast, showToast } from "@/components/ui/toast";
import { useLiftable, useLiftControls } from "@/lib/order/controls/controls.browser";
import type { LiftFilter } from "@/lib/order/controls/controls.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { useSources } from "@/lib/sources/sources.browser";

/** Lifts all controls that match: of a source, or the blacklists caused by one redrive. */
export function LiftManyDialog({ redriveId, onClose }: { redriveId: string | null; onClose: () => void }) {
  const sources = useSources();
  const [source, setSource] = useState("");
  const [origin, setOrigin] = useState<"automatic" | "person">("automatic");
  const filter: LiftFilter = {
    ...(redriveId === null ? { origin } : { redrive: redriveId }),
    ...(source === "" ? {} : { source }),
  };
  const found = useLiftable(filter);
  const lift = useLiftControls();
  const undo = (id: string) =>
    void lift
      .mutateAsync({ undo: id, reason: "the lift was undone" })
      .then(({ controls }) => showToast({ title: `${plural(controls, "control")} in force again`, tone: "success" }))
      .catch((error: unknown) => failureToast("The lift could not be undone", error));
  const count = found.data?.controls ?? null;
  return (
    <ReasonDialog
      needs="control"
      everySource={source === ""}
      title={redriveId === null ? "Lift several controls" : "Lift the blacklists of this redrive"}
      description="Their events can be redriven again. Lifting them does not start a redrive."
      verb={count === null ? "Lift" : `Lift ${plural(count, "control")}`}
      keep="Keep the controls"
      ready={() => count !== null && count > 0}
      onClose={onClose}
      onSubmit={async (reason) => {
        const { id, controls, more } = await lift.mutateAsync({ filter, reason });
        if (id === null) return { title: "None of them was still in force" };
        return {
          title: `Lifted ${plural(controls, "control")}${more ? "; more match: lift again" : ""}`,
          tone: "success",
          action: { label: "Undo", onSelect: () => undo(id) },
        };
      }}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Source"
          value={source}
          onValue={setSource}
          options={[
            { value: "", label: "all sources" },
            ...(sources.data?.items ?? []).map(({ name }) => ({ value: name, label: name })),
          ]}
        />
        {redriveId === null ? (
          <SelectField
            label="Added by"
            value={origin}
            onValue={(value) => setOrigin(value === "person" ? "person" : "automatic")}
            options={[
              { value: "automatic", label: "Parkade: aggregates that kept failing" },
              { value: "person", label: "people" },
            ]}
          />
        ) : null}
      </div>
      <p role="status" className="text-muted">
        {found.isError
          ? "The number of matches is not known."
          : count === null
            ? "Counting…"
            : `${plural(count, "control")} in force ${count === 1 ? "matches" : "match"}${found.data?.more ? ", and more" : ""}.`}
      </p>
    </ReasonDialog>
  );
}
