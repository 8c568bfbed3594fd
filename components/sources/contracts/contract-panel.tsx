"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useContractReports } from "@/lib/sources/targets/targets.browser";
import { AssertionList, countText, ResultWord } from "./assertion-list";

const ContractDialog = lazily(() => import("./contract-dialog"), "ContractDialog");

export function ContractPanel({ target }: { target: TargetOut }) {
  const reports = useContractReports();
  const [open, setOpen] = useState(false);
  const edit = target.contract === null ? "Set contract…" : "Edit contract…";
  const report = target.contract && reports.data?.items.find((each) => each.target === target.name);
  return (
    <div className="grid gap-2 border-t border-line pt-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-muted">contract</span>
        {target.contract === null ? <span className="text-muted">no contract</span> : null}
        {report ? (
          <>
            <ResultWord result={report.result} />
            <span className="text-muted">{countText(report)}</span>
          </>
        ) : null}
        {target.contract !== null && reports.isError ? (
          <span className="text-warning">its report could not be read</span>
        ) : null}
        <span className="ml-auto flex gap-2">
          {report ? (
            <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide assertions" : "Show assertions"}
            </Button>
          ) : null}
          <DialogButton
            needs="change-target"
            size="sm"
            aria-label={`${edit} of ${target.name}`}
            dialog={(onClose) => <ContractDialog target={target} onClose={onClose} />}
          >
            {edit}
          </DialogButton>
        </span>
      </div>
      {open && report ? <AssertionList wide assertions={report.assertions} /> : null}
    </div>
  );
}
