"use client";

import Link from "next/link";
import { useState } from "react";
import { LongText } from "@/components/redrive/long-text";
import { Button, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { lazily } from "@/components/ui/lazily";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { TimeAgo } from "@/components/ui/time-ago";
import { useForgets } from "@/lib/keep/forget/forget.browser";
import type { ForgetOut } from "@/lib/keep/forget/forget.shapes";
import { KEY_LABEL, keptWords, reportWords } from "./forget-words";

const ForgetDialog = lazily(() => import("./forget-dialog"), "ForgetDialog");

/** What was forgotten, with its report. Nothing here names whose data it was. */
export function ForgetPage() {
  const forgets = useForgets();
  const [open, setOpen] = useState(false);
  const items = itemsOf(forgets);
  return (
    <>
      <PageHeader
        title="Forget a person"
        actions={
          <Button needs="forget" everySource variant="danger" onClick={() => setOpen(true)}>
            Forget a person…
          </Button>
        }
      />
      <ListState
        read={forgets}
        loading={{ rows: 3, columns: ["w-28", "flex-1", "w-24"] }}
        none={
          <EmptyState title="No data has been forgotten yet">
            Parkade finds a person's data by a tag, an aggregate or a value in the payload, and deletes it from the
            store and the archive. The report stays here and names nobody.
          </EmptyState>
        }
      />
      <ul aria-label="What was forgotten" className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 pb-3">
        {items.map((forget) => (
          <Report key={forget.id} forget={forget} />
        ))}
      </ul>
      <NextPageButton read={forgets}>Older</NextPageButton>
      {open ? <ForgetDialog onClose={() => setOpen(false)} /> : null}
    </>
  );
}

const DOING: Record<ForgetOut["phase"], string> = {
  events: "Deleting events",
  archive: "Searching the archive",
  traces: "Redacting other mentions",
  audit: "Searching the audit log",
};

function Report({ forget }: { forget: ForgetOut }) {
  const { state, keyKind, phase, counts, refused, stalled } = forget;
  const stay = keptWords(refused);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-lg border border-line bg-surface px-3 py-2">
      <p className="flex flex-wrap items-baseline gap-x-4">
        <span className="font-medium">{state === "DONE" ? "Forgotten" : DOING[phase]}</span>
        <span className="text-muted">by {KEY_LABEL[keyKind]}</span>
        <span>{reportWords(counts) ?? (state === "DONE" ? "nothing was found" : null)}</span>
      </p>
      {stay.length === 0 ? null : <p className="text-warning">Not forgotten: {stay.join("; ")}</p>}
      {stalled === null ? null : <p className="text-warning wrap-anywhere">{stalled}</p>}
      <LongText text={forget.reason} />
      <p className="text-sm text-muted wrap-anywhere">
        by {forget.createdBy} · <TimeAgo at={forget.createdAt} /> ·{" "}
        <Link
          href={`/audit?subjectKind=forget&subjectId=${forget.id}`}
          className="touch inline-block min-h-6 hover:text-ink hover:underline"
        >
          audit
        </Link>
      </p>
    </li>
  );
}
