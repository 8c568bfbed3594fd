"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ShownOnce } from "@/components/guard/account/shown-once";
import { formOf } from "@/components/ui/draft-dialog";
import { ReadError } from "@/components/ui/error-panel";
import { TextField } from "@/components/ui/input";
import { ReasonDialog } from "@/components/ui/reason-dialog";
import { SelectField } from "@/components/ui/select";
import { useSettled } from "@/components/ui/use-settled";
import { forgetData, useForgetPreview } from "@/lib/keep/forget/forget.browser";
import type { ForgetPreview } from "@/lib/keep/forget/forget.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { type ForgetDraft, forgetWhat, KEY_LABEL, keptWords } from "./forget-words";

const KINDS = (["tag", "aggregateId", "pointer"] as const).map((value) => ({ value, label: KEY_LABEL[value] }));

/** Forgets what a key names, after a count of it was typed. */
export function ForgetDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<ForgetDraft>({ kind: "tag", name: "", value: "", source: "" });
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<string | null>(null);
  const result = forgetWhat(draft);
  const now = result.ok ? JSON.stringify(result.what) : "";
  const settled = useSettled(now);
  const preview = useForgetPreview(settled === "" ? null : JSON.parse(settled));
  const counted = settled === now ? preview.data : undefined;
  const wanted = counted === undefined ? null : counted.events === null ? "all" : String(counted.events);
  const agreed = wanted !== null && typed.replaceAll(/[\s,.]/g, "") === wanted;
  if (receipt !== null) {
    return (
      <ShownOnce title="Deletion started" label="the receipt" text={receipt} done="Done" onClose={onClose}>
        Keep this receipt with the request: it proves what was deleted. It is not stored and not shown again. The report
        is on this page.
      </ShownOnce>
    );
  }
  return (
    <ReasonDialog
      needs="forget"
      everySource
      answersOnce
      title="Forget a person"
      description="Deletes the events that match from the store and the archive, and replaces every other mention of the value, in the audit log too. This cannot be undone."
      variant="danger"
      verb={counted?.events ? `Forget ${plural(counted.events, "event")}` : "Forget"}
      reasonHint="Recorded in the audit log permanently: give the number of the request, not the person's name."
      ready={() => !result.ok || agreed}
      onClose={onClose}
      onSubmit={async (reason) => {
        if (!result.ok) return "stay";
        setReceipt((await forgetData(client, { ...result.what, reason })).receipt);
        return "stay";
      }}
    >
      {(pressed) => {
        const { text } = formOf(draft, setDraft, pressed && !result.ok ? result.errors : {});
        return (
          <>
            <div className="flex flex-wrap items-start gap-2">
              <SelectField {...text("kind")} label="Identified by" className="shrink-0" options={KINDS} />
              {draft.kind === "aggregateId" ? null : (
                <TextField
                  {...text("name")}
                  label={draft.kind === "tag" ? "tag name" : "JSON pointer"}
                  className="min-w-36 flex-1"
                  maxLength={512}
                  placeholder={draft.kind === "tag" ? "customerId" : "/customer/email"}
                  inputClassName="font-mono"
                />
              )}
              <TextField
                {...text("value")}
                label={draft.kind === "aggregateId" ? "aggregate" : "value"}
                className="min-w-40 flex-1"
                maxLength={512}
                inputClassName="font-mono"
              />
            </div>
            <TextField
              {...text("source")}
              label="Only in source"
              maxLength={256}
              placeholder="all sources"
              inputClassName="font-mono"
            />
            {settled === now && settled !== "" ? <ReadError read={preview} stale /> : null}
            <div aria-live="polite" className="min-h-10">
              {counted ? (
                <Counted preview={counted} />
              ) : result.ok && !preview.isError ? (
                <p className="text-muted">counting…</p>
              ) : null}
            </div>
            {wanted === null ? null : (
              <TextField
                label={wanted === "all" ? "Type all to confirm" : `Type ${wanted} to confirm`}
                value={typed}
                onValue={setTyped}
              />
            )}
          </>
        );
      }}
    </ReasonDialog>
  );
}

function Counted({ preview: { events, kept, keptByReason, archivedEvents, objects } }: { preview: ForgetPreview }) {
  return (
    <>
      <p>
        {events === null
          ? "The number of matching events in the store is not known."
          : `${plural(events, "event")} in the store.`}{" "}
        {objects === 0
          ? "The archive is empty."
          : `${archivedEvents === null ? "" : `${plural(archivedEvents, "archived event")}. `}${plural(objects, "object")} of the archive will be read.`}
      </p>
      {kept ? (
        <p className="text-muted">
          {formatNumber(kept)} would stay: {keptWords(keptByReason).join("; ")}. Request it again when nothing keeps
          these events.
        </p>
      ) : null}
    </>
  );
}
