"use client";

import { fromBase64 } from "@/components/events/payload/hex-lines";
import { RevealButton, useRevealRevisions } from "@/components/guard/masking/reveal";
import { ErrorPanel } from "@/components/ui/error-panel";
import { whenOpened } from "@/components/ui/lazily";
import { Skeleton } from "@/components/ui/skeleton";
import { useRevision } from "@/lib/repair/revisions/revisions.browser";
import type { RevisionDetail } from "@/lib/repair/revisions/revisions.shapes";

const ContentDiff = whenOpened(
  () => import("@/components/repair/editor/content-diff").then(({ ContentDiff }) => ContentDiff),
  <Skeleton className="h-40 w-full" />,
);

const contentOf = ({ body, headers }: RevisionDetail) => ({
  payload: fromBase64(body.base64),
  contentType: body.contentType,
  headers,
});

/** What differs between two revisions of an event. */
export function RevisionDiff({ eventId, before, after }: { eventId: string; before: number; after: number }) {
  const [old, fresh] = [useRevision(eventId, before), useRevision(eventId, after)];
  const { details, reveal } = useRevealRevisions(eventId, [before, after]);
  const error = old.error ?? fresh.error;
  if (error) {
    return <ErrorPanel error={error} inline onRetry={() => void Promise.all([old.refetch(), fresh.refetch()])} />;
  }
  if (!old.data || !fresh.data) return <Skeleton className="h-40 w-full" />;
  const [was, is] = [details[0] ?? old.data, details[1] ?? fresh.data];
  return (
    <>
      {was.body.masked || is.body.masked ? (
        <div className="flex items-center gap-3 text-muted">
          <p className="mr-auto">Values are masked: two values that look alike may differ.</p>
          <RevealButton reveal={reveal} />
        </div>
      ) : null}
      <ContentDiff before={contentOf(was)} after={contentOf(is)} names={[`revision ${before}`, `revision ${after}`]} />
    </>
  );
}
