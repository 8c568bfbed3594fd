"use client";

import { useState } from "react";
import { classNames } from "@/components/ui/class-names";
import { formatNumber } from "@/lib/browser/format";

/** Characters that fit the clamped lines on a phone; below it there is nothing to open. */
const SHORT_CHARS = 160;

/**
 * A text that may be ten thousand characters long: its first lines, and the whole of it on request. Not a box that
 * scrolls inside the page: that one cannot be reached by keyboard, and two scroll bars fight under one thumb.
 */
export function LongText({ text, className }: { text: string; className?: string }) {
  const [open, setOpen] = useState(false);
  const short = text.length <= SHORT_CHARS && !text.includes("\n");
  return (
    <div className={classNames("min-w-0", className)}>
      <p className={classNames("whitespace-pre-wrap wrap-anywhere", !short && !open && "line-clamp-3")}>{text}</p>
      {short ? null : (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="min-h-6 font-sans text-sm text-accent hover:underline"
        >
          {open ? "Show less" : `Show all ${formatNumber(text.length)} characters`}
        </button>
      )}
    </div>
  );
}
