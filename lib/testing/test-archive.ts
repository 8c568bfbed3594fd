import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";

/** An archive in a folder of its own for each test. */
export function archiveOfEachTest(): { archive: ArchiveStore; folder: () => string } {
  const archive = {} as ArchiveStore;
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parkade-archive-"));
    Object.assign(archive, openArchiveStore(parseArchiveLocation(`file://${folder}`), { clock: systemClock }));
  });
  afterEach(async () => {
    await archive.close();
    rmSync(folder, { recursive: true });
  });
  return { archive, folder: () => folder };
}

/** A list of archived events without a condition. */
export const EVERY_ARCHIVED = {
  ...{ id: null, eventId: null, aggregateId: null, source: null, errorCode: null, operation: null },
  ...{ fromMs: null, toMs: null, limit: 500, cursor: null },
};
