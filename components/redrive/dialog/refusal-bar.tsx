"use client";

import { useState } from "react";
import { refusalLines, refusalSummary, refusedTotal } from "@/components/redrive/refusal-words";
import { Button } from "@/components/ui/button";
import { controlCause } from "@/lib/order/controls/control.pure";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { eligibleShare } from "./redrive-draft";
import { SampleLines } from "./sample-lines";

/** The share of the set that would be sent, and the refused events by reason. */
export function RefusalBar({ preview }: { preview: PreviewOut }) {
  const [open, setOpen] = useState(false);
  const refused = refusedTotal(preview.refused);
  const lines = refusalLines(preview.refused);
  return (
    <div className="flex flex-col gap-1.5">
      <div className="flex h-2 gap-px overflow-hidden rounded-sm bg-line" data-bar aria-hidden>
        <div className="bg-accent" style={{ width: `${eligibleShare(preview) * 100}%` }} />
      </div>
      {refused === 0 ? (
        <p className="text-muted">No control or limit refuses any of these events.</p>
      ) : (
        <p className="flex flex-wrap items-center gap-x-2">
          <strong className="font-medium">{formatNumber(refused)} will be refused:</strong>
          <span className="text-muted">{refusalSummary(preview.refused)}</span>
          <Button variant="ghost" size="sm" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "hide" : "show"}
          </Button>
        </p>
      )}
      <SampleLines preview={preview} />
      {open ? (
        <ul className="grid max-h-40 gap-1 overflow-y-auto rounded-md bg-canvas px-3 py-2">
          {lines.map((line) => (
            <li key={line.reason} className="grid grid-cols-[5ch_1fr] gap-3">
              <span className="text-right font-mono">{formatNumber(line.count)}</span>
              <span>{line.sentence}</span>
            </li>
          ))}
          {preview.controls?.map(({ refuses, control }) => (
            <li key={control.id} className="grid grid-cols-[5ch_1fr] gap-3 text-muted">
              <span className="text-right font-mono">{refuses === null ? "some" : formatNumber(refuses)}</span>
              <span className="wrap-anywhere">{controlCause(control)}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
