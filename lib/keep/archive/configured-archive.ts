import type { ArchiveStore } from "@/lib/keep/archive/stores/archive-store";
import { DomainError } from "@/lib/platform/plain/problem.pure";

export type ArchiveDeps = { archive: ArchiveStore | null };

/** Throws DomainError `archive-unavailable` when none is configured. */
export function archiveOf({ archive }: ArchiveDeps): ArchiveStore {
  if (archive !== null) return archive;
  throw new DomainError(
    "archive-unavailable",
    "No archive is configured: set PARKADE_ARCHIVE for web and worker to file:///folder or s3://bucket/prefix",
  );
}
