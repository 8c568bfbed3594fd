"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { lazily } from "@/components/ui/lazily";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { plural } from "@/lib/platform/plain/format.pure";
import type { ContractReportOut } from "@/lib/sources/contracts/contracts.shapes";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { useContractReports } from "@/lib/sources/targets/targets.browser";

const ContractDialog = lazily(() => import("./contract-dialog"), "ContractDialog");

type Result = ContractReportOut["result"];

const LOOKS: Record<Result, { shape: ShapeName; colour: string; word: string }> = {
  holds: { shape: "disc", colour: "text-ok", word: "HOLDS" },
  broken: { shape: "cross", colour: "text-danger", word: "BROKEN" },
  unknown: { shape: "ring", colour: "text-muted", word: "UNKNOWN" },
};

/** What a target promises: the worst result, and each assertion with its formula and numbers. */
export function ContractPanel({ target }: { target: TargetOut }) {
  const reports = useContractReports();
  const [open, setOpen] = useState(false);
  const [editing, setEditing] = useState(false);
  const edit = target.contract === null ? "Promise…" : "Contract…";
  const report = target.contract && reports.data?.items.find((each) => each.target === target.name);
  return (
    <div className="grid gap-2 border-t border-line pt-2 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="text-muted">contract</span>
        {target.contract === null ? <span className="text-muted">nothing is promised</span> : null}
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
              {open ? "Hide assertions" : "Assertions"}
            </Button>
          ) : null}
          <Button size="sm" aria-label={`${edit} of ${target.name}`} onClick={() => setEditing(true)}>
            {edit}
          </Button>
        </span>
      </div>
      {open && report ? (
        <dl className="grid gap-2">
          {report.assertions.map(({ id, result, formula, numbers, reason }) => (
            <div key={id} className="grid min-w-0 gap-0.5">
              <dt className="flex flex-wrap items-center gap-x-3">
                <ResultWord result={result} />
                <span className="font-medium">{id}</span>
                <span className="text-muted wrap-anywhere">{formula}</span>
              </dt>
              <dd className="font-mono wrap-anywhere">
                {numbers}
                {reason === null ? null : <span className="font-sans text-muted"> · {reason}</span>}
              </dd>
            </div>
          ))}
        </dl>
      ) : null}
      {editing ? <ContractDialog target={target} onClose={() => setEditing(false)} /> : null}
    </div>
  );
}

function ResultWord({ result }: { result: Result }) {
  const { shape, colour, word } = LOOKS[result];
  return (
    <span className={classNames("inline-flex items-center gap-1", colour)}>
      <Shape name={shape} />
      <span className="font-mono">{word}</span>
    </span>
  );
}

function countText({ assertions }: ContractReportOut): string {
  const count = (result: Result) => assertions.filter((each) => each.result === result).length;
  return `${plural(assertions.length, "assertion")}: ${count("holds")} hold, ${count("broken")} broken, ${count("unknown")} unknown`;
}
