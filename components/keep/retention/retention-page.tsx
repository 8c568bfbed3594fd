"use client";

import { useState } from "react";
import { NoArchive } from "@/components/keep/archive/no-archive";
import { Button, LinkButton } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Table, Td, Th, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { useRetention, useRetentionPreview } from "@/lib/keep/retention/retention.browser";
import type { RetentionOut } from "@/lib/keep/retention/retention.shapes";
import { plural } from "@/lib/platform/plain/format.pure";
import { DueDays } from "./due-days";
import { dueText } from "./retention-words";

const RetentionDialog = lazily(() => import("./retention-dialog"), "RetentionDialog");

export function RetentionPage() {
  const retention = useRetention();
  const { data } = retention;
  return (
    <div className="flex min-h-full flex-col">
      <PageHeader title="Retention" meta="how long events stay before they move to the archive" />
      <div className="grid gap-3 px-3 pb-3">
        {data && data.place === null ? (
          <div className="rounded-md border border-l-2 border-warning bg-surface px-3 py-2">
            <NoArchive what="removed" />
          </div>
        ) : null}
        <ReadError read={retention} stale={data !== undefined} />
        <Periods retention={data} />
        <NextToExpire />
      </div>
    </div>
  );
}

function Periods({ retention }: { retention: RetentionOut | undefined }) {
  const [editing, setEditing] = useState(false);
  return (
    <Panel
      title="Kept for"
      meta="counted from the UTC day on which an event was parked"
      actions={
        <Button needs="change-settings" everySource size="sm" disabled={!retention} onClick={() => setEditing(true)}>
          Edit…
        </Button>
      }
    >
      {retention === undefined ? (
        <SkeletonRows rows={2} columns={["w-32", "w-32", "w-16"]} />
      ) : (
        <>
          <Table focusable>
            <thead>
              <tr>
                <Th numeric className="w-20">
                  Kept
                </Th>
                <Th>Source</Th>
                <Th>Error code</Th>
              </tr>
            </thead>
            <tbody>
              {retention.rules.map(({ source, errorCode, days }) => (
                <Tr key={JSON.stringify([source, errorCode])}>
                  <Td numeric className="whitespace-nowrap">
                    {plural(days, "day")}
                  </Td>
                  <Td className="max-w-64 truncate">{source ?? <span className="text-faint">all sources</span>}</Td>
                  <Td className="max-w-64 truncate font-mono text-sm">
                    {errorCode ?? <span className="font-sans text-base text-faint">every code</span>}
                  </Td>
                </Tr>
              ))}
              <Tr>
                <Td numeric className="whitespace-nowrap">
                  {plural(retention.days, "day")}
                </Td>
                <Td colSpan={2} className="text-muted">
                  {retention.rules.length === 0 ? "All events" : "All other events"}
                </Td>
              </Tr>
            </tbody>
          </Table>
          <p className="px-3 py-2 text-sm text-muted">
            {retention.changedAt === null ? null : (
              <>
                Changed <TimeAgo at={retention.changedAt} /> by {retention.changedBy}.{" "}
              </>
            )}
            {retention.lookedAt === null ? (
              "Never run."
            ) : (
              <>
                Last run <TimeAgo at={retention.lookedAt} />.
              </>
            )}
          </p>
        </>
      )}
      {editing && retention ? <RetentionDialog retention={retention} onClose={() => setEditing(false)} /> : null}
    </Panel>
  );
}

/** What the next look of a worker makes leave, and why older events stay. */
function NextToExpire() {
  const preview = useRetentionPreview();
  const days = preview.data?.days;
  return (
    <Panel
      title="Due now"
      meta={days ? dueText(days) : null}
      actions={
        <LinkButton size="sm" href="/operations" prefetch={false}>
          Bulk changes
        </LinkButton>
      }
    >
      <ReadError read={preview} stale={preview.data !== undefined} />
      {preview.isPending ? <SkeletonRows rows={3} columns={["w-24", "w-16", "w-16", "flex-1"]} /> : null}
      {days === null ? (
        <p className="px-3 pt-1 pb-3 text-muted">
          Counting took too long: there are more due events than can be counted in four seconds. They still expire.
        </p>
      ) : null}
      {days?.length === 0 ? (
        <p className="px-3 pt-1 pb-3 text-muted">
          No stored event has passed its retention. A worker checks every ten minutes; the events of one more day become
          due after midnight UTC.
        </p>
      ) : null}
      {days && days.length > 0 ? <DueDays days={days} /> : null}
    </Panel>
  );
}
