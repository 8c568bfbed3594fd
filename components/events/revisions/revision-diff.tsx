"use client";

import { fromBase64 } from "@/components/events/payload/hex-lines";
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
  const error = old.error ?? fresh.error;
  if (error) {
    return <ErrorPanel error={error} inline onRetry={() => void Promise.all([old.refetch(), fresh.refetch()])} />;
  }
  if (!old.data || !fresh.data) return <Skeleton className="h-40 w-full" />;
  return (
    <>
      {old.data.body.masked ? (
        <p className="text-muted">Secret values are masked: two of them may look alike and differ.</p>
      ) : null}
      <ContentDiff
        before={contentOf(old.data)}
        after={contentOf(fresh.data)}
        names={[`revision ${before}`, `revision ${after}`]}
      />
    </>
  );
}
