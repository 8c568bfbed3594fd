"use client";

import { ResourcePage } from "@/components/resource/resource-page";
import { lazily } from "@/components/ui/lazily";
import { itemsOf } from "@/components/ui/loaded";
import { CardSkeletons } from "@/components/ui/skeleton";
import { plural } from "@/lib/platform/plain/format.pure";
import { useKinds, useSources } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { SourceCard } from "./source-card";

const AddSourceDialog = lazily(() => import("@/components/sources/form/add-source-dialog"), "AddSourceDialog");

/** Those that need somebody first; the others in the order of the server. */
const failingFirst = (items: readonly SourceOut[]) =>
  items.toSorted((a, b) => Number(b.state?.state === "failing") - Number(a.state?.state === "failing"));

export function SourcesPage() {
  const known = itemsOf(useKinds());
  return (
    <ResourcePage
      title="Sources"
      meta={({ length }) => plural(length, "source")}
      needs="change-source"
      add="Connect a source…"
      read={useSources()}
      loading={<CardSkeletons body="h-12!" />}
      empty={{
        title: "No source is connected",
        text: `A source is where dead letters come from${known.length === 0 ? "" : `: ${known.map(({ label }) => label).join(", ")}`}.`,
      }}
      dialog={(_, onClose) => <AddSourceDialog onClose={onClose} />}
    >
      {(items) => (
        <ul className="grid gap-3 px-3 pb-4 lg:grid-cols-2">
          {failingFirst(items).map((source) => (
            <SourceCard key={source.id} source={source} kind={known.find(({ kind }) => kind === source.kind) ?? null} />
          ))}
        </ul>
      )}
    </ResourcePage>
  );
}
