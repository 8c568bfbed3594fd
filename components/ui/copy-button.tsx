"use client";

import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { classNames } from "./class-names";

const SHOWN_MS = 1_200;

/** Copies a text and confirms it; `failed` when the browser refuses the clipboard (an insecure origin). */
export function useCopy(): { state: "idle" | "copied" | "failed"; copy: (text: string) => void } {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return;
    const timer = setTimeout(() => setState("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (text: string) => {
    if (!navigator.clipboard) return setState("failed");
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
  };
  return { state, copy };
}

export function CopyButton(props: {
  /** A function when the text is expensive to build. */
  text: string | (() => string);
  /** The name of the copied value: `event id`, `payload`. */
  label: string;
  className?: string;
  children?: ReactNode;
}) {
  const { text, label, className, children } = props;
  const { state, copy } = useCopy();
  const said = state === "copied" ? "Copied" : state === "failed" ? "Could not copy" : `Copy ${label}`;
  return (
    <button
      type="button"
      aria-label={said}
      data-tip={said}
      onClick={(event) => {
        event.stopPropagation();
        copy(typeof text === "string" ? text : text());
      }}
      className={classNames(
        "inline-flex h-6 min-w-6 shrink-0 items-center justify-center gap-1.5 rounded-md px-1.5 text-faint hover:bg-hover hover:text-ink",
        className,
      )}
    >
      {state === "copied" ? <Check size={12} aria-hidden /> : <Copy size={12} aria-hidden />}
      {children}
    </button>
  );
}
