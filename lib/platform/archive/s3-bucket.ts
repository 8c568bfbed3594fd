import { createHash } from "node:crypto";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from "@aws-sdk/client-s3";
import type { ArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { failureOf } from "@/lib/platform/archive/s3-failure";
import { DomainError } from "@/lib/platform/plain/problem.pure";

export type S3Keys = { accessKeyId: string; secretAccessKey: string };

type S3Location = Extract<ArchiveLocation, { kind: "s3" }>;

const CONNECT_MS_MAX = 3_000;
/** Without a byte for this long a try has failed. Three of them end within a call. */
const SILENCE_MS_MAX = 5_000;
const TRIES_MAX = 3;

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

type Page = { objects: { key: string; bytes: number }[]; next: string | undefined };

/** The requests of an archive in a bucket. They reject with what the SDK says, or DomainError `archive-refused`. */
export class ArchiveBucket {
  private readonly location: S3Location;
  private readonly place: string;
  private readonly client: S3Client;

  constructor(location: S3Location, { place, keys }: { place: string; keys: S3Keys | null }) {
    this.location = location;
    this.place = place;
    this.client = new S3Client(clientConfig(location, keys));
  }

  /** Checks the key first, because some servers answer 501 to the condition and others ignore it. The condition decides between concurrent writers. */
  async writeOnce(key: string, bytes: Uint8Array, abortSignal: AbortSignal): Promise<void> {
    const sha256 = createHash("sha256").update(bytes).digest("base64");
    const free = await this.isFree(key, abortSignal);
    if (free === false) throw taken(key, this.place);
    const object = { ...this.named(key), Body: bytes, ChecksumSHA256: sha256 };
    try {
      await this.client.send(new PutObjectCommand({ ...object, IfNoneMatch: "*" }), { abortSignal });
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
      await this.client.send(new PutObjectCommand(object), { abortSignal });
    }
  }

  async read(key: string, abortSignal: AbortSignal): Promise<Uint8Array | null> {
    try {
      const command = new GetObjectCommand({ ...this.named(key), ChecksumMode: "ENABLED" });
      const { Body } = await this.client.send(command, { abortSignal });
      // Rejects when the checksum that was stored with the object is another one.
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    } catch (error) {
      if (failureOf(error).name === "NoSuchKey") return null;
      throw error;
    }
  }

  async readPage(prefix: string, after: string | undefined, abortSignal: AbortSignal): Promise<Page> {
    const { Key: Prefix, Bucket } = this.named(prefix);
    const command = new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: after });
    const { Contents = [], IsTruncated, NextContinuationToken } = await this.client.send(command, { abortSignal });
    const cut = this.named("").Key.length;
    const objects = Contents.map(({ Key = "", Size = 0 }) => ({ key: Key.slice(cut), bytes: Size }))
      // Consoles of stores make empty objects with such names and show them as folders.
      .filter(({ key }) => key !== "" && !key.endsWith("/"));
    return { objects, next: IsTruncated ? NextContinuationToken : undefined };
  }

  async delete(key: string, abortSignal: AbortSignal): Promise<void> {
    try {
      await this.client.send(new DeleteObjectCommand(this.named(key)), { abortSignal });
    } catch (error) {
      if (failureOf(error).name !== "NoSuchKey") throw error;
    }
  }

  close(): void {
    this.client.destroy();
  }

  /** null = these credentials may not ask. A missing bucket looks like a free key. */
  private async isFree(key: string, abortSignal: AbortSignal): Promise<boolean | null> {
    try {
      await this.client.send(new HeadObjectCommand(this.named(key)), { abortSignal });
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
}

function taken(key: string, place: string): DomainError {
  return new DomainError("archive-refused", `${key} already exists in ${place}: an object is written once`);
}
