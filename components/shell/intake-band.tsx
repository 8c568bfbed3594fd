"use client";

import { OctagonX } from "lucide-react";
import { TextLink } from "@/components/ui/text-link";
import { TimeAbsolute } from "@/components/ui/time-ago";
import { useStatus } from "@/lib/observe/health/status.browser";

/** Shown on every page while nothing is taken in: since when, why, and what still works. */
export function IntakeBand() {
  const [stop] = useStatus().data?.intakeStops ?? [];
  if (!stop) return null;
  return (
    <section
      aria-label="Stopped intake"
      role="status"
      className="flex items-start gap-2 border-b border-danger bg-surface px-4 py-1.5"
    >
      <OctagonX size={14} aria-hidden className="mt-1 shrink-0 text-danger" />
      <p className="mt-0.5 min-w-0 flex-1 wrap-anywhere">
        <strong className="font-medium text-danger">No events are accepted</strong>, since{" "}
        <TimeAbsolute at={stop.since} />: {stop.detail}. Senders get 503 and brokers keep their messages; redrives,
        search, removal and the archive continue. Intake resumes when there is room:{" "}
        <TextLink href="/runbooks/disk-full" className="underline">
          how to make room
        </TextLink>
        .
      </p>
    </section>
  );
}
