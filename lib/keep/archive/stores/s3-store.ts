import { createHash } from "node:crypto";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import type { ArchiveLocation } from "@/lib/keep/archive/archive-location.pure";
import { assertKey, assertPrefix } from "@/lib/keep/archive/stores/archive-key.pure";
import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { failureOf, s3Fault } from "@/lib/keep/archive/stores/s3-failure";
import { type Clock, within } from "@/lib/platform/clock";
import { DomainError } from "@/lib/platform/plain/problem.pure";

export type S3Keys = { accessKeyId: string; secretAccessKey: string };

type S3Location = Extract<ArchiveLocation, { kind: "s3" }>;
type S3Options = { clock: Clock; keys: S3Keys | null };

const CONNECT_MS_MAX = 3_000;
/** Without a byte for this long a try has failed. Three of them end within a call. */
const SILENCE_MS_MAX = 5_000;
const TRIES_MAX = 3;
const CALL_MS_MAX = 20_000;

function clientConfig({ region, endpoint, pathStyle }: S3Location, keys: S3Keys | null): S3ClientConfig {
  return {
    ...(region === null ? {} : { region }),
    ...(endpoint === null ? {} : { endpoint }),
    ...(keys === null ? {} : { credentials: keys }),
    forcePathStyle: pathStyle,
    maxAttempts: TRIES_MAX,
    requestHandler: { connectionTimeout: CONNECT_MS_MAX, socketTimeout: SILENCE_MS_MAX },
  };
}

/** Objects of a bucket of S3, or of a server that speaks its protocol. */
export function s3Store(location: S3Location, { clock, keys }: S3Options): ArchiveStore {
  const bucket = new ArchiveBucket(location, { clock, keys });
  return {
    place: bucket.place,
    put: async (key, bytes) => {
      assertKey(key);
      await bucket.call("PutObject", (signal) => bucket.writeOnce(key, bytes, signal));
    },
    get: async (key) => {
      assertKey(key);
      return bucket.call("GetObject", (signal) => bucket.read(key, signal));
    },
    list: async function* (prefix) {
      assertPrefix(prefix);
      let next: string | undefined;
      do {
        const after = next;
        const page = await bucket.call("ListObjectsV2", (signal) => bucket.readPage(prefix, after, signal));
        yield* page.objects;
        next = page.next;
      } while (next !== undefined);
    },
    remove: async (key) => {
      assertKey(key);
      await bucket.call("DeleteObject", (signal) => bucket.delete(key, signal));
    },
    close: () => bucket.close(),
  };
}

type Page = { objects: { key: string; bytes: number }[]; next: string | undefined };

class ArchiveBucket {
  readonly place: string;
  private readonly location: S3Location;
  private readonly clock: Clock;
  private readonly keys: S3Keys | null;
  private opened: S3Client | null = null;

  constructor(location: S3Location, { clock, keys }: S3Options) {
    this.location = location;
    this.clock = clock;
    this.keys = keys;
    const at = location.endpoint === null ? "" : ` at ${location.endpoint}`;
    this.place = `s3://${location.bucket}${location.prefix === "" ? "" : `/${location.prefix}`}${at}`;
  }

  /** Ends within CALL_MS_MAX, whatever the SDK does. */
  async call<T>(command: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await within(this.clock, CALL_MS_MAX, (signal) => {
        const late = Promise.withResolvers<never>();
        signal.addEventListener("abort", () => late.reject(signal.reason), { once: true });
        return Promise.race([work(signal), late.promise]);
      });
    } catch (error) {
      throw s3Fault(error, { command, place: this.place, bucket: this.location.bucket });
    }
  }

  /**
   * Asks first whether the key is taken, for servers that do not know the condition: some answer 501, others overlook it. The
   * condition decides between writers at the same time.
   */
  async writeOnce(key: string, bytes: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    const sha256 = createHash("sha256").update(bytes).digest("base64");
    const free = await this.isFree(key, abortSignal);
    if (free === false) throw taken(key, this.place);
    const { PutObjectCommand } = await import("@aws-sdk/client-s3");
    const object = { ...this.named(key), Body: bytes, ChecksumSHA256: sha256 };
    const client = await this.client();
    try {
      await client.send(new PutObjectCommand({ ...object, IfNoneMatch: "*" }), { abortSignal });
    } catch (error) {
      const { name, status, tries } = failureOf(error);
      if (status === 412) {
        // An earlier try of this call may have written it, its answer being lost.
        if (tries > 1 && (await this.holds(key, bytes, abortSignal))) return;
        throw taken(key, this.place);
      }
      if (name === "ConditionalRequestConflict" && (await this.isFree(key, abortSignal)) === false)
        throw taken(key, this.place);
      if ((status !== 501 && name !== "NotImplemented") || free !== true) throw error;
      await client.send(new PutObjectCommand(object), { abortSignal });
    }
  }

  async read(key: string, abortSignal: AbortSignal): Promise<Uint8Array | null> {
    const { GetObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await this.client();
    try {
      const command = new GetObjectCommand({ ...this.named(key), ChecksumMode: "ENABLED" });
      const { Body } = await client.send(command, { abortSignal });
      // Rejects when the checksum that was stored with the object is another one.
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    } catch (error) {
      if (failureOf(error).name === "NoSuchKey") return null;
      throw error;
    }
  }

  async readPage(prefix: string, after: string | undefined, abortSignal: AbortSignal): Promise<Page> {
    const { ListObjectsV2Command } = await import("@aws-sdk/client-s3");
    const client = await this.client();
    const { Key: Prefix, Bucket } = this.named(prefix);
    const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: after });
    const { Contents = [], IsTruncated, NextContinuationToken } = await client.send(command, { abortSignal });
    const cut = this.named("").Key.length;
    const objects = Contents.map(({ Key = "", Size = 0 }) => ({ key: Key.slice(cut), bytes: Size }))
      // Consoles of stores make empty objects with such names and show them as folders.
      .filter(({ key }) => key !== "" && !key.endsWith("/"));
    return { objects, next: IsTruncated ? NextContinuationToken : undefined };
  }

  async delete(key: string, abortSignal: AbortSignal): Promise<void> {
    const { DeleteObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await this.client();
    try {
      await client.send(new DeleteObjectCommand(this.named(key)), { abortSignal });
    } catch (error) {
      if (failureOf(error).name !== "NoSuchKey") throw error;
    }
  }

  async close(): Promise<void> {
    this.opened?.destroy();
  }

  /** null = these credentials may not ask. A missing bucket looks like a free key. */
  private async isFree(key: string, abortSignal: AbortSignal): Promise<boolean | null> {
    const { HeadObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await this.client();
    try {
      await client.send(new HeadObjectCommand(this.named(key)), { abortSignal });
      return false;
    } catch (error) {
      const { status } = failureOf(error);
      if (status === 404) return true;
      // Its answer has no body that says why. The write's has.
      if (status === 403 || status === 400) return null;
      throw error;
    }
  }

  private async holds(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    const found = await this.read(key, signal);
    return found !== null && Buffer.compare(found, bytes) === 0;
  }

  private named(key: string): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.location;
    return { Bucket: bucket, Key: prefix === "" ? key : `${prefix}/${key}` };
  }

  /** Loaded by the first call: a start without S3 does not load the SDK. */
  private async client(): Promise<S3Client> {
    const { S3Client } = await import("@aws-sdk/client-s3");
    this.opened ??= new S3Client(clientConfig(this.location, this.keys));
    return this.opened;
  }
}

function taken(key: string, place: string): DomainError {
  return new DomainError("archive-refused", `${key} is in ${place} already: an object is written once`);
}
