"use client";

import Link from "next/link";
import { useState } from "react";
import { LongText } from "@/components/redrive/long-text";
import { percentWords } from "@/components/redrive/progress-segments";
import { LOOKS } from "@/components/redrive/segmented-bar";
import { mendHref } from "@/components/repair/mends/mend-address";
import { Button, LinkButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { Shape } from "@/components/ui/shape";
import { SkeletonRows } from "@/components/ui/skeleton";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import { useRedriveCauses } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { type CauseView, causeViews } from "./cause-words";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");

const TEXTS_SHOWN = 5;

/** The events that were not taken or came back, grouped by cause, each group with samples and a button that sends it again. */
export function RedriveCauses(props: { redrive: RedriveOut; live: boolean; className?: string }) {
  const { redrive, live, className } = props;
  const causes = useRedriveCauses(redrive.id, live);
  const [chosen, setChosen] = useState<CauseView | null>(null);
  const views = causes.data ? causeViews(causes.data.causes) : [];
  const none = redrive.failed + redrive.bounced + redrive.refused === 0 && views.length === 0;
  if (none && !live) return null;
  return (
    <Panel
      className={className}
      title={redrive.mode === "verify" ? "Why some would be refused" : "Not processed"}
      meta="by cause"
    >
      <ReadError read={causes} />
      {none ? (
        <p className="px-3 pb-3 text-muted">No failures, bounces or refusals so far.</p>
      ) : causes.isPending ? (
        <SkeletonRows rows={2} columns={["w-16", "flex-1"]} />
      ) : null}
      <ul>
        {views.map((view) => (
          <Cause key={view.key} redrive={redrive} view={view} onChosen={setChosen} />
        ))}
      </ul>
      {chosen ? (
        <RedriveDialog
          selection={{ redrive: redrive.id, outcome: [chosen.outcome], result: chosen.result }}
          total={chosen.count}
          onClose={() => setChosen(null)}
        />
      ) : null}
    </Panel>
  );
}

function Cause(props: { redrive: RedriveOut; view: CauseView; onChosen: (chosen: CauseView) => void }) {
  const { redrive, view, onChosen } = props;
  const [open, setOpen] = useState(false);
  const held = view.result === "held-by-head";
  const along = redrive.earlier === "include";
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 border-t border-line px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Shape name={LOOKS[view.outcome].shape} className={classNames("shrink-0", LOOKS[view.outcome].text)} />
        <span className="min-w-10 text-right font-mono">{formatNumber(view.count)}</span>
        <span className="font-medium wrap-anywhere">{view.result}</span>
        <span className="min-w-0 text-muted">{view.title}</span>
        <span className="text-sm text-faint">{percentWords(view.share * 1_000, 1_000)}</span>
        <div className="ml-auto flex gap-2">
          {view.samples.length > 0 ? (
            <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide samples" : "Show samples"}
            </Button>
          ) : null}
          {view.mendable ? (
            <LinkButton
              size="sm"
              prefetch={false}
              href={mendHref({ redrive: redrive.id, outcome: [view.outcome], result: view.result }, randomKey)}
            >
              Mend these…
            </LinkButton>
          ) : null}
          {held && along && redrive.mode === "verify" ? null : (
            <Button size="sm" onClick={() => onChosen(view)}>
              {held && !along ? "Include earlier versions…" : "Redrive these…"}
            </Button>
          )}
        </div>
      </div>
      {view.stops.length > 0 ? <p className="text-sm text-muted">Not retried: {view.stops.join("; ")}.</p> : null}
      {held && along ? (
        <p className="text-sm text-warning">
          The earlier versions were already included. Mend, release or send the first one.
        </p>
      ) : null}
      {view.advice ? <p className="text-sm text-warning">{view.advice}</p> : null}
      {view.texts.slice(0, open ? TEXTS_SHOWN : 1).map((entry) => (
        <LongText key={entry.text} text={entry.text} className="font-mono text-sm text-muted" />
      ))}
      {open ? <Samples view={view} /> : null}
    </li>
  );
}

function Samples({ view }: { view: CauseView }) {
  return (
    <p className="flex flex-wrap gap-x-3 gap-y-1 text-sm">
      <span className="text-muted">{plural(view.samples.length, "sample")}:</span>
      {view.samples.map((item) => (
        <Link key={item.id} href={`/events/${item.id}`} className="font-mono text-accent hover:underline">
          {shortenId(item.eventId)}
        </Link>
      ))}
    </p>
  );
}
