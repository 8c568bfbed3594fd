import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/platform/archive/archive-store";
import type { S3Keys } from "@/lib/platform/archive/s3-bucket";
import { systemClock } from "@/lib/platform/clock";

/**
 * A process that a conformance test kills while it writes objects, one after the other: it says over IPC which one it begins.
 * Started with what it needs as one JSON argument.
 */
const settings = JSON.parse(process.argv[2]!) as {
  location: string;
  keys: S3Keys | null;
  encryptionKey?: string;
  prefix: string;
  bytes: number;
};

const { keys, encryptionKey } = settings;
const encryptionKeys = encryptionKey === undefined ? [] : [Buffer.from(encryptionKey, "hex")];
const store = openArchiveStore(parseArchiveLocation(settings.location), { clock: systemClock, keys, encryptionKeys });
for (let serial = 0; ; serial++) {
  const bytes = Buffer.alloc(settings.bytes, serial + 1);
  process.send?.({ begins: serial });
  await store.put(`${settings.prefix}${serial}`, bytes);
}
