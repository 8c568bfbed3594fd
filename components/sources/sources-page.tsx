"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { CardSkeletons } from "@/components/ui/skeleton";
import { plural } from "@/lib/platform/plain/format.pure";
import { useKinds, useSources } from "@/lib/sources/sources.browser";
import { SourceCard } from "./source-card";

const AddSourceDialog = lazily(() => import("@/components/sources/form/add-source-dialog"), "AddSourceDialog");

export function SourcesPage() {
  const sources = useSources();
  const kinds = useKinds();
  const [adding, setAdding] = useState(false);
  const items = sources.data?.items ?? [];
  const known = kinds.data?.items ?? [];
  const connect = () => setAdding(true);
  return (
    <>
      <PageHeader
        title="Sources"
        meta={sources.data ? plural(items.length, "source") : undefined}
        actions={
          <Button needs="change-source" variant="primary" onClick={connect}>
            Connect a source…
          </Button>
        }
      />
      <ReadError read={sources} stale={items.length > 0} />
      {sources.isPending ? <CardSkeletons body="h-12!" /> : null}
      {sources.isSuccess && items.length === 0 ? (
        <EmptyState
          title="No source is connected"
          action={
            <Button needs="change-source" onClick={connect}>
              Connect a source…
            </Button>
          }
        >
          A source is where dead letters come from
          {known.length === 0 ? "" : `: ${known.map(({ label }) => label).join(", ")}`}.
        </EmptyState>
      ) : null}
      <ul className="grid gap-3 px-3 pb-4 lg:grid-cols-2">
        {items.map((source) => (
          <SourceCard key={source.id} source={source} kind={known.find(({ kind }) => kind === source.kind) ?? null} />
        ))}
      </ul>
      {adding ? <AddSourceDialog onClose={() => setAdding(false)} /> : null}
    </>
  );
}
