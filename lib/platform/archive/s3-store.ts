import { assertKey, assertPrefix } from "@/lib/platform/archive/archive-key.pure";
import type { ArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import type { ArchiveStore } from "@/lib/platform/archive/archive-store";
import type { ArchiveBucket, S3Keys } from "@/lib/platform/archive/s3-bucket";
import { s3Fault } from "@/lib/platform/archive/s3-failure";
import { type Clock, within } from "@/lib/platform/clock";

type S3Location = Extract<ArchiveLocation, { kind: "s3" }>;

const CALL_MS_MAX = 20_000;

export function s3Store(location: S3Location, { clock, keys }: { clock: Clock; keys: S3Keys | null }): ArchiveStore {
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
