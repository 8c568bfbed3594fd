"use client";

import Link from "next/link";
import { useState } from "react";
import { RevisionDiff } from "@/components/events/revisions/revision-diff";
import { LongText } from "@/components/redrive/long-text";
import { classNames } from "@/components/ui/class-names";
import { CopyButton } from "@/components/ui/copy-button";
import { Shape } from "@/components/ui/shape";
import { TextLink } from "@/components/ui/text-link";
import { TimeAbsolute, TimeAgo } from "@/components/ui/time-ago";
import type { AuditOut } from "@/lib/guard/audit/audit.shapes";
import type { Finding } from "@/lib/guard/audit-chain/chain.pure";
import { shortenId } from "@/lib/platform/plain/format.pure";
import { AuditEvents } from "./audit-events";
import { actionWords, revisedBy, subjectHref, subjectWords } from "./audit-words";
import { diffSummary, type FieldChange, fieldDiff } from "./field-diff";

/** One entry of the log. Opened, it shows each field before and after the change. @param finding of the last check of the audit */
export function AuditLine({ entry, finding }: { entry: AuditOut; finding: Finding | undefined }) {
  const [open, setOpen] = useState(false);
  const changes = fieldDiff(entry.before, entry.after);
  return (
    <li className="border-b border-line">
      <div className="relative flex min-h-8 flex-wrap items-center gap-x-3 px-3 py-1 hover:bg-hover md:grid md:grid-cols-[5.5rem_8.5rem_11rem_9rem_minmax(0,1fr)]">
        <TimeAgo at={entry.at} className="text-sm whitespace-nowrap text-muted" />
        <span className="max-w-40 truncate md:max-w-none" data-tip={entry.actor}>
          {entry.actor}
        </span>
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          data-tip={entry.action}
          className="min-h-6 truncate text-left after:absolute after:inset-0"
        >
          {actionWords(entry.action)}
        </button>
        <Subject entry={entry} />
        <span className="flex min-w-0 basis-full items-baseline gap-3">
          {finding ? (
            <span className="inline-flex shrink-0 items-center gap-1.5 font-medium text-blacklisted">
              <Shape name="triangle" />
              {finding.code}
            </span>
          ) : null}
          {entry.reason ? <span className="min-w-0 truncate">{entry.reason}</span> : null}
          <span className="min-w-0 flex-1 truncate font-mono text-sm text-muted">{diffSummary(changes)}</span>
        </span>
      </div>
      {open && finding ? (
        <p className="bg-canvas px-3 pt-3 text-blacklisted">The check found: {finding.detail}.</p>
      ) : null}
      {open ? <Opened entry={entry} changes={changes} /> : null}
    </li>
  );
}

function Subject({ entry }: { entry: AuditOut }) {
  const href = subjectHref(entry);
  const words = subjectWords(entry);
  if (href === null) return <span className="truncate text-muted">{words}</span>;
  return (
    <Link
      href={href}
      className="relative z-10 flex min-h-6 w-fit max-w-full items-center gap-1.5 truncate text-accent hover:underline"
    >
      {words}
      {entry.subjectId ? <span className="font-mono text-sm">{shortenId(entry.subjectId, 4, 4)}</span> : null}
    </Link>
  );
}

function Opened({ entry, changes }: { entry: AuditOut; changes: FieldChange[] }) {
  const revised = revisedBy(entry);
  const json = () => JSON.stringify({ before: entry.before, after: entry.after }, null, 2);
  return (
    <div className="grid gap-2 bg-canvas px-3 py-3">
      <p className="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted">
        <TimeAbsolute at={entry.at} />
        <span className="wrap-anywhere">by {entry.actor}</span>
        {entry.redriveId ? (
          <Link href={`/redrives/${entry.redriveId}`} className="text-accent hover:underline">
            view redrive
          </Link>
        ) : null}
        {entry.operationId ? (
          <Link href={`/operations/${entry.operationId}`} className="text-accent hover:underline">
            view bulk change
          </Link>
        ) : null}
        <CopyButton text={json} label="before and after as JSON" className="ml-auto" />
      </p>
      {entry.reason ? <LongText text={entry.reason} /> : null}
      {entry.action === "event.exported" ? <ExportBegun at={entry.at} /> : null}
      {entry.subjectKind === "event" && entry.action !== "event.export-ended" && (entry.count ?? 0) > 1 ? (
        <AuditEvents entryId={entry.id} count={entry.count!} />
      ) : null}
      {revised === null ? null : <RevisionDiff {...revised} />}
      {changes.length === 0 ? <p className="text-muted">No details were recorded.</p> : <FieldDiff changes={changes} />}
    </div>
  );
}

function ExportBegun({ at }: { at: string }) {
  const ends = `/audit?action=event.export-ended&from=${encodeURIComponent(at)}`;
  return (
    <p className="text-muted">
      The export started here, before its events were counted. <TextLink href={ends}>The entry for its end</TextLink>{" "}
      has the count. If that entry is missing, assume that every matching event was exported.
    </p>
  );
}

const MARK = {
  added: { shape: "disc", colour: "text-ok", word: "added" },
  removed: { shape: "cross", colour: "text-danger", word: "removed" },
  changed: { shape: "half", colour: "text-warning", word: "changed" },
  same: { shape: "ring", colour: "text-faint", word: "same" },
} as const;

/** Before and after beside each other; unchanged fields are grey. */
function FieldDiff({ changes }: { changes: FieldChange[] }) {
  return (
    <ul className="grid gap-px rounded-md border border-line bg-surface py-1 font-mono text-sm">
      {changes.map((change) => {
        const mark = MARK[change.kind];
        return (
          <li
            key={change.path}
            className={classNames(
              "grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 px-3 py-0.5 sm:grid-cols-[auto_14rem_minmax(0,1fr)]",
              change.kind === "same" && "text-faint",
            )}
          >
            <Shape name={mark.shape} className={classNames("mt-1", mark.colour)} />
            <span className="wrap-anywhere">
              {change.path === "" ? "value" : change.path}
              <span className="sr-only"> {mark.word}</span>
            </span>
            <span className="col-start-2 wrap-anywhere sm:col-start-3">
              {change.kind === "changed" || change.kind === "removed" ? (
                <del className="text-danger decoration-danger/60">{change.before}</del>
              ) : null}
              {change.kind === "changed" ? " → " : null}
              {change.kind === "changed" || change.kind === "added" ? (
                <ins className="text-ok no-underline">{change.after}</ins>
              ) : null}
              {change.kind === "same" ? change.after : null}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
