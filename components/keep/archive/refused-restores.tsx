"use client";

import { X } from "lucide-react";
import { useEffect, useRef } from "react";
import { IconButton } from "@/components/ui/button";
import { plural, visible } from "@/lib/platform/plain/format.pure";
import type { Refused } from "./use-restore";

/** The events that a restore has left in the archive, each with the reason. */
export function RefusedRestores({ refused, onClose }: { refused: readonly Refused[]; onClose: () => void }) {
  const ref = useRef<HTMLElement>(null);
  // The button may be far below.
  useEffect(() => {
    if (refused.length > 0) ref.current?.scrollIntoView({ block: "nearest" });
  }, [refused]);
  if (refused.length === 0) return null;
  return (
    <section
      ref={ref}
      aria-label="Not restored"
      className="mx-3 mb-3 grid gap-1 rounded-md border border-l-2 border-warning bg-surface py-2 pr-2 pl-3"
    >
      <div className="flex items-start gap-2">
        <h2 className="flex-1 font-medium">
          {plural(refused.length, "event")} {refused.length === 1 ? "stays" : "stay"} in the archive
        </h2>
        <IconButton size="sm" label="Close" onClick={onClose}>
          <X size={13} aria-hidden />
        </IconButton>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long list */}
      <ul className="grid max-h-48 gap-0.5 overflow-y-auto" tabIndex={0} aria-label="Reasons">
        {refused.map(({ id, eventId, detail }) => (
          <li key={id} className="wrap-anywhere">
            <span className="font-mono text-sm">{visible(eventId)}</span> <span className="text-muted">{detail}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
