"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useSourceContractReport } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { AssertionList, countText, ResultWord } from "./assertion-list";

const SourceContractDialog = lazily(() => import("./contract-dialog"), "SourceContractDialog");

export function SourceContractPanel({ source }: { source: SourceOut }) {
  const [editing, setEditing] = useState(false);
  const report = useSourceContractReport(source.name, source.contract !== null);
  return (
    <Panel
      title="Contract"
      actions={
        <Button needs="change-source" size="sm" onClick={() => setEditing(true)}>
          {source.contract === null ? "Promise…" : "Edit…"}
          <span className="sr-only"> the contract of {source.name}</span>
        </Button>
      }
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
    >
      {source.contract === null ? (
        <p className="text-muted">
          Nothing is promised yet: how soon its dead letters are resolved, how long its consumers remember a key, and
          who waits for it.
        </p>
      ) : (
        <>
          <ReadError read={report} stale={report.data !== undefined} />
          {report.isPending ? <SkeletonRows rows={3} columns={["w-24", "flex-1"]} /> : null}
          {report.data ? (
            <>
              <p className="flex flex-wrap items-baseline gap-x-2 text-sm">
                <ResultWord result={report.data.result} />
                <span className="text-muted">{countText(report.data)}</span>
              </p>
              <AssertionList wide assertions={report.data.assertions} />
            </>
          ) : null}
        </>
      )}
      {editing ? <SourceContractDialog source={source} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}
