"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { plural } from "@/lib/platform/plain/format.pure";
import type { SchemaList } from "@/lib/repair/schemas/payload-schemas.shapes";
import { useSchemas } from "@/lib/repair/schemas/schemas.browser";
import { typeWords } from "./schema-words";

const SchemaDialog = lazily(() => import("./schema-dialog"), "SchemaDialog");
const SchemaVersionsDialog = lazily(() => import("./schema-versions-dialog"), "SchemaVersionsDialog");

type Item = SchemaList["items"][number];
type Open = { dialog: "store"; of: Item | null } | { dialog: "versions"; of: Item };

/** What the payloads of a source must look like, by event type. */
export function SchemasPanel({ source }: { source: string }) {
  const schemas = useSchemas(source);
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const items = schemas.data?.items ?? [];
  return (
    <Panel title="Schemas" bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3">
      <ReadError read={schemas} stale={items.length > 0} />
      {schemas.isSuccess && items.length === 0 ? (
        <p className="text-muted">
          No schema: a payload only has to be valid. With a schema the dry run refuses payloads that do not match it.
        </p>
      ) : null}
      {items.length > 0 ? (
        <ul aria-label="Schemas by event type" className="grid grid-cols-[minmax(0,1fr)] gap-2">
          {items.map((item) => (
            <li key={item.id} className="grid grid-cols-[minmax(0,1fr)] gap-0.5">
              <p className="wrap-anywhere">
                <span className="font-mono text-sm">{typeWords(item.eventType)}</span>{" "}
                <span className="text-muted">
                  {item.current ? `version ${item.version}` : `retired, had ${plural(item.versions, "version")}`}
                  {item.origin === "inferred" ? `, inferred from ${item.eventsRead} events` : null}
                </span>
              </p>
              <p className="text-sm text-faint">
                {item.createdBy}, <TimeAgo at={item.createdAt} />
              </p>
              <div className="flex gap-1 py-1">
                <Button needs="change-source" size="sm" onClick={() => setOpen({ dialog: "store", of: item })}>
                  <span className="sr-only">{typeWords(item.eventType)}: </span>Edit…
                </Button>
                <Button size="sm" variant="ghost" onClick={() => setOpen({ dialog: "versions", of: item })}>
                  <span className="sr-only">{typeWords(item.eventType)}: </span>Versions…
                </Button>
              </div>
            </li>
          ))}
        </ul>
      ) : null}
      <Button
        needs="change-source"
        size="sm"
        className="justify-self-start"
        onClick={() => setOpen({ dialog: "store", of: null })}
      >
        Add a schema…
      </Button>
      {open?.dialog === "store" ? <SchemaDialog source={source} stored={open.of} onClose={close} /> : null}
      {open?.dialog === "versions" ? <SchemaVersionsDialog of={open.of} onClose={close} /> : null}
    </Panel>
  );
}
