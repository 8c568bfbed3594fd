"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { CardSkeletons } from "@/components/ui/skeleton";
import { useSources } from "@/lib/browser/sources";
import type { SourceOut } from "@/lib/contract/sources";
import { plural } from "@/lib/core/format";
import { SourceCard } from "./source-card";

const SourceDialog = lazily(() => import("./source-dialog").then(({ SourceDialog }) => SourceDialog));

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
      <ReadError read={sources} stale={items.length > 0} />
      {sources.isPending ? <CardSkeletons body="h-12!" /> : null}
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
