import { assertKey, assertPrefix } from "@/lib/platform/archive/archive-key.pure";
import type { ArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { folderStore } from "@/lib/platform/archive/folder-store";
import type { ArchiveBucket, S3Keys } from "@/lib/platform/archive/s3-bucket";
import { s3Fault } from "@/lib/platform/archive/s3-failure";
import { sealedStore } from "@/lib/platform/archive/sealed-store";
import { type Clock, within } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/**
 * Where removed events lie, as objects that are written once. A key is a path such as `removed/2026-11-25/orders.zst`.
 * Each call ends within CALL_MS_MAX; one that a fault of the store ends rejects with DomainError `archive-unavailable`,
 * whose text names the fault and the fix.
 */
export type ArchiveStore = {
  /** Where objects lie, as a person names it; no secret in it. */
  readonly place: string;
  /** Resolves when durable. Rejects with DomainError `archive-refused` when the key is taken; after other errors it may exist, but never in part. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** null = there is no such object. Rejects with DomainError `archive-unreadable` when it is sealed and does not open. */
  get(key: string): Promise<Uint8Array | null>;
  /** Objects whose key begins with `prefix`, in the order of the bytes of their keys; `bytes` as they are stored. */
  list(prefix: string): AsyncGenerator<{ key: string; bytes: number }>;
  /** Of an object that is not there: no error. */
  remove(key: string): Promise<void>;
  close(): Promise<void>;
};

type ArchiveOptions = {
  clock: Clock;
  /** null = S3 is asked with what the SDK of AWS finds: variables, files, the role of the machine. */
  keys?: S3Keys | null;
  /** Seal what is written, see `sealedStore`; none = it is stored as it is. */
  encryptionKeys?: readonly Uint8Array[];
};

/** Opens nothing yet: what is wrong with the location is said by the first call. */
export function openArchiveStore(
  location: ArchiveLocation,
  { clock, keys = null, encryptionKeys = [] }: ArchiveOptions,
): ArchiveStore {
  const store = location.kind === "folder" ? folderStore(location, clock) : s3Store(location, { clock, keys });
  return sealedStore(store, encryptionKeys);
}

export type ArchiveDeps = { archive: ArchiveStore | null };

/** Throws DomainError `archive-unavailable` when none is configured. */
export function archiveOf({ archive }: ArchiveDeps): ArchiveStore {
  if (archive !== null) return archive;
  throw new DomainError(
    "archive-unavailable",
    "No archive is configured: set PARKADE_ARCHIVE for web and worker to file:///folder or s3://bucket/prefix",
  );
}

type S3Location = Extract<ArchiveLocation, { kind: "s3" }>;

const CALL_MS_MAX = 20_000;

function s3Store(location: S3Location, { clock, keys }: { clock: Clock; keys: S3Keys | null }): ArchiveStore {
  const { bucket: name, prefix: below, endpoint } = location;
  const place = `s3://${name}${below === "" ? "" : `/${below}`}${endpoint === null ? "" : ` at ${endpoint}`}`;
  let opened: Promise<ArchiveBucket> | null = null;
  const open = () => {
    // Loaded by the first call: a start without S3 does not load the SDK. By a file of ours, since a bundle gives what a
    // package of CommonJS exports no names when it is imported at run time.
    opened ??= import("@/lib/platform/archive/s3-bucket").then(
      ({ ArchiveBucket }) => new ArchiveBucket(location, { place, keys }),
    );
    return opened;
  };
  /** Ends within CALL_MS_MAX, whatever the SDK does. */
  const call = async <T>(
    command: string,
    work: (bucket: ArchiveBucket, signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    try {
      const bucket = await open();
      return await within(clock, CALL_MS_MAX, (signal) => {
        const late = Promise.withResolvers<never>();
        signal.addEventListener("abort", () => late.reject(signal.reason), { once: true });
        return Promise.race([work(bucket, signal), late.promise]);
      });
    } catch (error) {
      throw s3Fault(error, { command, place, bucket: name });
    }
  };
  return {
    place,
    put: async (key, bytes) => {
      assertKey(key);
      await call("PutObject", (bucket, signal) => bucket.writeOnce(key, bytes, signal));
    },
    get: async (key) => {
      assertKey(key);
      return call("GetObject", (bucket, signal) => bucket.read(key, signal));
    },
    list: async function* (prefix) {
      assertPrefix(prefix);
      let next: string | undefined;
      do {
        const after = next;
        const page = await call("ListObjectsV2", (bucket, signal) => bucket.readPage(prefix, after, signal));
        yield* page.objects;
        next = page.next;
      } while (next !== undefined);
    },
    remove: async (key) => {
      assertKey(key);
      await call("DeleteObject", (bucket, signal) => bucket.delete(key, signal));
    },
    close: async () => (await opened)?.close(),
  };
}
