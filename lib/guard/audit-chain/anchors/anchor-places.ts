import { createHash } from "node:crypto";
import { parseAnchors } from "@/lib/guard/audit-chain/anchors/anchor-line";
import type { AnchorLocation } from "@/lib/guard/audit-chain/anchors/anchor-location.pure";
import type { ReadAnchor } from "@/lib/guard/audit-chain/chain.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { type Clock, within } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";

const PREFIX = "audit-anchors/";
const SEND_MS_MAX = 10_000;

export type AnchorPlace = {
  /** As a person names it; no secret in it. */
  readonly place: string;
  /** Resolves when it is durable there. @param name of a file, unique */
  write(text: string, name: string): Promise<void>;
  /** What stands there, an object at a time; null = the place only takes. @param secrets verify signatures */
  readonly read: ((secrets: readonly string[]) => AsyncIterable<ReadAnchor[]>) | null;
  close(): Promise<void>;
};

type PlaceDeps = {
  clock: Clock;
  keys: { accessKeyId: string; secretAccessKey: string } | null;
  /** Checks addresses. */
  fetch: typeof globalThis.fetch;
};

export function openAnchorPlaces(locations: readonly AnchorLocation[], deps: PlaceDeps): AnchorPlace[] {
  return locations.map((location) => {
    if (location.kind === "webhook") return webhook(location.url, deps);
    return objects(openArchiveStore(location, { clock: deps.clock, keys: deps.keys }));
  });
}

/** A folder or a bucket: one object each time, which is written once. */
function objects(store: ArchiveStore): AnchorPlace {
  return {
    place: store.place,
    write: (text, name) => store.put(`${PREFIX}${name}.jsonl`, Buffer.from(text)),
    read: async function* (secrets) {
      for await (const { key } of store.list(PREFIX)) {
        const bytes = await store.get(key);
        if (bytes === null) continue;
        yield parseAnchors(Buffer.from(bytes).toString("utf8"), { place: store.place, object: key, secrets });
      }
    },
    close: () => store.close(),
  };
}

function webhook(url: string, { clock, fetch }: PlaceDeps): AnchorPlace {
  const { origin } = new URL(url);
  // The address may hold a secret, and one host may have several.
  const place = `${origin} (${createHash("sha256").update(url).digest("hex").slice(0, 8)})`;
  return {
    place,
    write: (text, name) =>
      within(clock, SEND_MS_MAX, async (signal) => {
        const headers = { "content-type": "application/x-ndjson", "idempotency-key": name };
        const response = await fetch(url, { method: "POST", headers, body: text, redirect: "error", signal });
        await response.arrayBuffer();
        if (!response.ok)
          throw new DomainError(
            "archive-unavailable",
            `${place} answered ${response.status} to an anchor of the audit`,
          );
      }),
    read: null,
    close: async () => {},
  };
}
