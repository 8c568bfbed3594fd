"use client";

import Link from "next/link";
import { useState } from "react";
import { LongText } from "@/components/redrives/long-text";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { MenuButton } from "@/components/ui/popup-button";
import { Shape } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { showToast } from "@/components/ui/toast";
import { useNow } from "@/lib/browser/clock-zone";
import { eventsHref } from "@/lib/browser/filter-read";
import { useProbe, useSaveSource } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";
import { PARKED_STATUSES } from "@/lib/core/event-state";
import { formatNumber } from "@/lib/core/format";
import { configFacts } from "./config-facts";
import { ProbeResult } from "./probe-result";
import { sourceState } from "./source-state";

const DeleteDialog = lazily(() => import("./delete-dialog").then(({ DeleteDialog }) => DeleteDialog));

/** One source: its state, its numbers, its configuration and a probe. */
export function SourceCard({ source, onEdit }: { source: SourceOut; onEdit: () => void }) {
  const now = useNow();
  const probe = useProbe();
  const save = useSaveSource(source.name);
  const [deleting, setDeleting] = useState(false);
  const look = sourceState(source, { reads: source.kind !== "http", nowMs: now });
  const toggle = async () => {
    try {
      await save.mutateAsync({ enabled: !source.enabled });
    } catch {
      return; // shown from save.error
    }
    void showToast({
      title: source.enabled ? `Switched ${source.name} off` : `Switched ${source.name} on`,
      action: { label: "Undo", onSelect: () => save.mutate({ enabled: source.enabled }) },
    });
  };
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] content-start gap-3 rounded-lg border border-line bg-surface p-3">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-2">
        <div className="min-w-0 flex-1 basis-48">
          <h2 className="truncate font-medium" data-tip={source.name}>
            {source.name}
          </h2>
          <p className={classNames("flex items-center gap-1.5", look.colour)}>
            <Shape name={look.shape} className="shrink-0" />
            <span className="font-mono text-sm">{look.word}</span>
            <span className="text-muted">{source.kind}</span>
          </p>
        </div>
        <div className="flex gap-2">
          <Button size="sm" busy={probe.isPending} onClick={() => probe.mutate({ name: source.name })}>
            Probe
          </Button>
          <Button size="sm" onClick={onEdit}>
            Edit…
          </Button>
          <MenuButton
            name={`More for ${source.name}`}
            label="▾"
            size="sm"
            align="end"
            entries={[
              { id: "toggle", label: source.enabled ? "Switch off" : "Switch on", onSelect: toggle },
              { id: "delete", label: "Delete…", danger: true, onSelect: () => setDeleting(true) },
            ]}
          />
        </div>
      </div>
      <Numbers source={source} />
      {source.state?.lastError ? (
        <LongText text={source.state.lastError} className="rounded-md bg-canvas px-3 py-2 font-mono text-sm" />
      ) : null}
      <Config source={source} />
      {save.isError ? <ErrorPanel error={save.error} inline title="This was not done" /> : null}
      {probe.isError ? <ErrorPanel error={probe.error} inline title="The probe failed" /> : null}
      {probe.data ? <ProbeResult probe={probe.data} onClose={() => probe.reset()} /> : null}
      {deleting ? <DeleteDialog source={source} onClose={() => setDeleting(false)} /> : null}
    </li>
  );
}

function Numbers({ source }: { source: SourceOut }) {
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-2">
      <div>
        <dt className="text-sm text-muted">parked</dt>
        <dd className="text-lg font-medium">
          {source.parked === null ? (
            "?"
          ) : (
            <Link
              href={eventsHref({ source: [source.name], status: [...PARKED_STATUSES] })}
              className="text-accent hover:underline"
            >
              {formatNumber(source.parked)}
            </Link>
          )}
        </dd>
      </div>
      {source.kind === "http" ? null : (
        <div>
          <dt className="text-sm text-muted">waiting in the queue</dt>
          <dd className="text-lg font-medium">{source.state?.lag == null ? "?" : formatNumber(source.state.lag)}</dd>
        </div>
      )}
      {source.state ? (
        <div>
          <dt className="text-sm text-muted">last heard of</dt>
          <dd className="text-lg font-medium">
            <TimeAgo at={source.state.at} />
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

function Config({ source }: { source: SourceOut }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 text-sm">
      {configFacts(source).map((fact) => (
        <div key={fact.name} className="contents">
          <dt className="text-muted">{fact.name}</dt>
          <dd className="truncate font-mono" data-tip={fact.value}>
            {fact.value}
          </dd>
        </div>
      ))}
    </dl>
  );
}
