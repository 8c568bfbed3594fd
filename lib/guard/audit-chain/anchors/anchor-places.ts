import { parseAnchors } from "@/lib/guard/audit-chain/anchors/anchor-line";
import type { Anchor } from "@/lib/guard/audit-chain/chain.pure";
import type { ArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/keep/archive/stores/archive-store";
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
