import type { Anchor, ChainHead } from "@/lib/guard/audit-chain/chain.pure";
import type { ArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import type { Clock } from "@/lib/platform/clock";

const PREFIX = "audit-anchors/";

/** A folder or a bucket: one object each time, which is written once. */
export type AnchorPlace = {
  /** As a person names it; no secret in it. */
  readonly place: string;
  /** Resolves when it is durable there. @param name of an object, unique */
  write(text: string, name: string): Promise<void>;
  /** What stands there, an object at a time. */
  read(): AsyncIterable<Anchor[]>;
  close(): Promise<void>;
};

type PlaceDeps = { clock: Clock; keys: { accessKeyId: string; secretAccessKey: string } | null };

export function openAnchorPlaces(locations: readonly ArchiveLocation[], { clock, keys }: PlaceDeps): AnchorPlace[] {
  return locations.map((location) => placeIn(openArchiveStore(location, { clock, keys })));
}

function placeIn(store: ArchiveStore): AnchorPlace {
  const { place } = store;
  return {
    place,
    write: (text, name) => store.put(`${PREFIX}${name}.jsonl`, Buffer.from(text)),
    read: async function* () {
      for await (const { key: object } of store.list(PREFIX)) {
        const bytes = await store.get(object);
        if (bytes !== null) yield parseAnchors(Buffer.from(bytes).toString("utf8"), { place, object });
      }
    },
    close: () => store.close(),
  };
}

/** What stands outside: one line of JSON for each end of the chain. */
export function anchorLine({ seq, chainHash }: ChainHead, at: string): string {
  return `${JSON.stringify({ parkade: "audit-anchor", seq, chainHash, at })}\n`;
}

/** Of the lines of a file that others may have changed. A line that is no anchor is left out. */
function parseAnchors(text: string, { place, object }: { place: string; object: string }): Anchor[] {
  return text.split("\n").flatMap((line) => {
    const facts = factsOf(line);
    return facts === null ? [] : [{ ...facts.head, place, object, atMs: Date.parse(facts.at) }];
  });
}

/** null = it is no anchor, or one with a scope: of the chains of 0.1.0, whose entries are sealed anew. */
function factsOf(line: string): { head: ChainHead; at: string } | null {
  if (!line.startsWith("{")) return null;
  try {
    const { parkade, scope, seq, chainHash, at } = JSON.parse(line) as Record<string, unknown>;
    if (parkade !== "audit-anchor" || scope !== undefined) return null;
    if (!Number.isSafeInteger(seq) || typeof chainHash !== "string") return null;
    return { head: { seq: seq as number, chainHash }, at: String(at) };
  } catch {
    return null;
  }
}
