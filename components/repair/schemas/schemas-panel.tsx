"use client";

import { DialogButton } from "@/components/ui/dialog-button";
import { ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Panel } from "@/components/ui/panel";
import { TimeAgo } from "@/components/ui/time-ago";
import { plural } from "@/lib/platform/plain/format.pure";
import type { SchemaList } from "@/lib/sources/schemas/payload-schemas.shapes";
import { useSchemas } from "@/lib/sources/schemas/schemas.browser";
import { typeWords } from "./schema-words";

const SchemaDialog = lazily(() => import("./schema-dialog"), "SchemaDialog");
const SchemaVersionsDialog = lazily(() => import("./schema-versions-dialog"), "SchemaVersionsDialog");

type Item = SchemaList["items"][number];

/** What the payloads of a source must look like, by event type. */
export function SchemasPanel({ source }: { source: string }) {
  const schemas = useSchemas(source);
  const storeOf = (stored: Item | null) => (onClose: () => void) => (
    <SchemaDialog source={source} stored={stored} onClose={onClose} />
  );
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
                <DialogButton needs="change-source" size="sm" dialog={storeOf(item)}>
                  <span className="sr-only">{typeWords(item.eventType)}: </span>Edit…
                </DialogButton>
                <DialogButton
                  size="sm"
                  variant="ghost"
                  dialog={(onClose) => <SchemaVersionsDialog of={item} onClose={onClose} />}
                >
                  <span className="sr-only">{typeWords(item.eventType)}: </span>Versions…
                </DialogButton>
              </div>
            </li>
          ))}
        </ul>
      ) : null}
      <DialogButton needs="change-source" size="sm" className="justify-self-start" dialog={storeOf(null)}>
        Add a schema…
      </DialogButton>
    </Panel>
  );
}
