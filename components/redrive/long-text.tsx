"use client";

import { useState } from "react";
import { classNames } from "@/components/ui/class-names";
import { formatNumber } from "@/lib/platform/plain/format.pure";

/** A text up to this length fits the visible lines on a phone, so it needs no button. */
const SHORT_CHARS = 160;

/**
 * A text of up to 10,000 characters: its first lines, and the whole text after a click. Not a scrolling box: the
 * keyboard cannot reach one, and on a phone it takes the page's scrolling.
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
