"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { Skeleton } from "@/components/ui/skeleton";
import { plural } from "@/lib/browser/format";
import { useSources } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";
import { SourceCard } from "./source-card";

const SourceDialog = lazily(() => import("./source-dialog").then(({ SourceDialog }) => SourceDialog));

/** Where dead letters come from, and whether they do. */
export function SourcesPage() {
  const sources = useSources();
  const [editing, setEditing] = useState<SourceOut | "new" | null>(null);
  const items = sources.data?.items ?? [];
  const connect = () => setEditing("new");
  return (
    <>
      <PageHeader
        title="Sources"
        meta={sources.data ? plural(items.length, "source") : undefined}
        actions={
          <Button variant="primary" onClick={connect}>
            Connect a source…
          </Button>
        }
      />
      {sources.isError ? (
        <ErrorPanel error={sources.error} onRetry={() => sources.refetch()} inline={items.length > 0} />
      ) : null}
      {sources.isPending ? <CardSkeletons /> : null}
      {sources.isSuccess && items.length === 0 ? (
        <EmptyState title="No source is connected" action={<Button onClick={connect}>Connect a source…</Button>}>
          A source is one dead-letter queue of a broker that Parkade reads, or a service that posts its dead letters
          over HTTP.
        </EmptyState>
      ) : null}
      <ul className="grid gap-3 px-3 pb-4 lg:grid-cols-2">
        {items.map((source) => (
          <SourceCard key={source.id} source={source} onEdit={() => setEditing(source)} />
        ))}
      </ul>
      {editing ? <SourceDialog source={editing === "new" ? null : editing} onClose={() => setEditing(null)} /> : null}
    </>
  );
}

function CardSkeletons() {
  return (
    <div role="status" aria-label="Loading" className="grid gap-3 px-3 lg:grid-cols-2">
      {[0, 1].map((card) => (
        <Panel key={card} bodyClassName="grid gap-3 p-3">
          <Skeleton className="h-4! w-40" />
          <Skeleton className="h-12!" />
        </Panel>
      ))}
    </div>
  );
}
