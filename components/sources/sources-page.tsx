"use client";

import { ResourcePage } from "@/components/resource/resource-page";
import { lazily } from "@/components/ui/lazily";
import { itemsOf } from "@/components/ui/loaded";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Table, Th } from "@/components/ui/table";
import { useNow } from "@/lib/platform/browser/clock-zone.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { useKinds, useSources } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { SourceRow } from "./source-row";
import { neediestFirst } from "./source-state";

const AddSourceDialog = lazily(() => import("@/components/sources/form/add-source-dialog"), "AddSourceDialog");

export function SourcesPage() {
  const known = itemsOf(useKinds());
  const nowMs = useNow();
  const kindOf = (source: SourceOut) => known.find(({ kind }) => kind === source.kind) ?? null;
  const reads = (source: SourceOut) => kindOf(source)?.capabilities.reads ?? true;
  return (
    <ResourcePage
      title="Sources"
      meta={({ length }) => plural(length, "source")}
      needs="change-source"
      add="Connect a source…"
      read={useSources()}
      loading={<SkeletonRows rows={5} columns={["w-40", "w-40", "flex-1", "w-56"]} />}
      empty={{
        title: "No source is connected",
        text: `A source is where dead letters come from${known.length === 0 ? "" : `: ${known.map(({ label }) => label).join(", ")}`}.`,
      }}
      dialog={(_, onClose) => <AddSourceDialog onClose={onClose} />}
    >
      {(items) => (
        <Table className="mb-4">
          <thead>
            <tr>
              <Th>source</Th>
              <Th>state</Th>
              <Th numeric>parked</Th>
              {items.some(reads) ? (
                <>
                  <Th numeric className="max-lg:hidden">
                    waiting at the broker
                  </Th>
                  <Th numeric className="max-lg:hidden">
                    read, last minute
                  </Th>
                  <Th numeric className="max-lg:hidden">
                    workers
                  </Th>
                  <Th className="max-lg:hidden">reported</Th>
                </>
              ) : null}
              <Th className="max-sm:hidden">
                <span className="sr-only">Actions</span>
              </Th>
            </tr>
          </thead>
          {neediestFirst(items, nowMs, reads).map((source) => (
            <SourceRow key={source.id} source={source} kind={kindOf(source)} showsReads={items.some(reads)} />
          ))}
        </Table>
      )}
    </ResourcePage>
  );
}
