"use client";

import { LongText } from "@/components/redrive/long-text";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Shape } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useRetrySource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { modeWords, retryWords, sourceState } from "./source-state";

export function SourceBadge({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  const look = sourceState(source, { reads: kind?.capabilities.reads ?? true, nowMs: useNow() });
  return (
    <span className={classNames("flex items-center gap-1.5", look.colour)}>
      <Shape name={look.shape} className="shrink-0" />
      <span className="font-mono text-sm">{look.word}</span>
      <span className="text-muted">{kind?.label ?? source.kind}</span>
    </span>
  );
}

/** Why a source is not read, and the error with which it fails; null = all is well. */
export function troubleOf(source: SourceOut): { words: string | null; error: string | null } | null {
  const { state, mode } = source;
  const words = modeWords(source);
  const error = mode === "running" || mode === "draining" ? (state?.lastError ?? null) : null;
  return words === null && error === null ? null : { words, error };
}

/** Why a source is not read, or why it fails and when it is tried again. Nothing while all is well. */
export function SourceTrouble({ source }: { source: SourceOut }) {
  const now = useNow();
  const retry = useRetrySource(source.name);
  const trouble = troubleOf(source);
  if (trouble === null) return null;
  const { state } = source;
  const { words, error } = trouble;
  // Without room for events the workers pause the source by themselves, and no attempt would change that.
  const isHeldBack = state?.state === "paused";
  const next = retryWords(state?.retryAt, now);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {words === null ? null : (
        <div className="text-muted">
          <LongText text={words} />
          <TimeAgo at={source.modeAt} />
        </div>
      )}
      {error === null ? null : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-1 rounded-md bg-canvas px-3 py-2">
          <LongText text={error} className="font-mono text-sm" />
          <p className={classNames("flex flex-wrap items-center gap-2 text-muted", isHeldBack && "hidden")}>
            {next}
            <Button needs="change-source" size="sm" busy={retry.isPending} onClick={() => retry.mutate()}>
              Try now
            </Button>
            {retry.isSuccess ? <span role="status">workers retry within 2 s</span> : null}
          </p>
          {retry.isError ? <ErrorPanel error={retry.error} inline title="Request failed" /> : null}
        </div>
      )}
    </div>
  );
}
