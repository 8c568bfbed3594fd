"use client";

import { DialogButton } from "@/components/ui/dialog-button";
import { lazily } from "@/components/ui/lazily";
import { ReadState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { useSourceContractReport } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { AssertionList, countText, ResultWord } from "./assertion-list";

const SourceContractDialog = lazily(() => import("./contract-dialog"), "SourceContractDialog");

export function SourceContractPanel({ source }: { source: SourceOut }) {
  const report = useSourceContractReport(source.name, source.contract !== null);
  return (
    <Panel
      title="Contract"
      actions={
        <DialogButton
          needs="change-source"
          size="sm"
          dialog={(onClose) => <SourceContractDialog source={source} onClose={onClose} />}
        >
          {source.contract === null ? "Set contract…" : "Edit…"}
          <span className="sr-only"> the contract of {source.name}</span>
        </DialogButton>
      }
      bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3"
    >
      {source.contract === null ? (
        <p className="text-muted">
          No contract yet. A contract says how soon its dead letters are resolved, how long its consumers remember a
          key, and who waits for it.
        </p>
      ) : (
        <>
          <ReadState read={report} loading={{ rows: 3, columns: ["w-24", "flex-1"] }} />
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
    </Panel>
  );
}
