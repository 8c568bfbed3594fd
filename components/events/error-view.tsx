"use client";

import { useMemo, useState } from "react";
import { MaskedText } from "@/components/guard/masking/masked-text";
import { classNames } from "@/components/ui/class-names";
import { CopyButton } from "@/components/ui/copy-button";
import type { EventDetail } from "@/lib/events/events.shapes";
import { STACK_CHARS, stackLines } from "@/lib/events/groups/fingerprint/stack.pure";
import { formatNumber, plural, visible } from "@/lib/platform/plain/format.pure";

/** A longer message is folded: an error of 10,000 characters must not push the rest off the screen. */
const MESSAGE_CHARS = 600;

function Message({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > MESSAGE_CHARS;
  return (
    <p className="wrap-anywhere whitespace-pre-wrap">
      <bdi>
        <MaskedText text={cut ? text.slice(0, MESSAGE_CHARS).toWellFormed() : text} />
      </bdi>
      {cut ? (
        <button type="button" className="text-accent hover:underline" onClick={() => setWhole(true)}>
          … {formatNumber(text.length - MESSAGE_CHARS)} more characters
        </button>
      ) : null}
    </p>
  );
}

/**
 * The stack, with the frames of the application bright and the other frames grey, or only the application's frames.
 * Only the first lines are read for frames; the text after them is shown on request, because a stack may have a million
 * characters.
 */
function Stack({ stack }: { stack: string }) {
  const lines = useMemo(() => stackLines(stack), [stack]);
  const rest = stack.slice(STACK_CHARS);
  const [whole, setWhole] = useState(false);
  const foreign = lines.filter((line) => line.kind === "foreign").length;
  const [ownOnly, setOwnOnly] = useState(false);
  return (
    <section>
      <header className="flex h-8 items-center gap-2">
        <h2 className="text-sm font-medium text-faint">Stack</h2>
        {foreign > 0 ? (
          <button
            type="button"
            aria-pressed={ownOnly}
            onClick={() => setOwnOnly((now) => !now)}
            className="text-sm text-accent hover:underline"
          >
            {ownOnly ? `show ${plural(foreign, "library frame")}` : "hide library frames"}
          </button>
        ) : null}
        <span className="ml-auto" />
        <CopyButton text={stack} label="stack" />
      </header>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll long lines
        tabIndex={0}
        className="overflow-x-auto rounded-md border border-line bg-canvas px-3 py-2 font-mono text-sm leading-5"
      >
        {lines.map((line, index) =>
          ownOnly && line.kind === "foreign" ? null : (
            <div
              // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text repeat and never move
              key={index}
              className={classNames(line.kind === "foreign" && "text-faint", line.kind === "own" && "font-medium")}
            >
              {line.text === "" ? " " : visible(line.text)}
            </div>
          ),
        )}
        {whole ? visible(rest) : null}
        {rest !== "" && !whole ? (
          <button type="button" className="text-accent hover:underline" onClick={() => setWhole(true)}>
            … {formatNumber(rest.length)} more characters
          </button>
        ) : null}
      </pre>
    </section>
  );
}

/** The list keeps the start of a long message, with an ellipsis. */
function isStartOf(shown: string, message: string): boolean {
  return message === shown || (shown.endsWith("…") && message.startsWith(shown.slice(0, -1)));
}

export function ErrorView({ event }: { event: EventDetail }) {
  const { type, message, stack } = event.errorDetail;
  const text = message ?? event.lastError;
  // A failed redrive brings an error of its own; message and stack below are those of the parked message.
  const since = event.lastError !== null && message !== null && !isStartOf(event.lastError, message);
  return (
    <div className="flex flex-col gap-2 px-3 py-3">
      {since ? (
        <section className="grid gap-1 border-b border-line pb-3">
          <h2 className="text-sm font-medium text-faint">Last failure</h2>
          <p className="font-mono text-sm font-medium">{visible(event.lastErrorCode ?? event.errorCode)}</p>
          <Message text={event.lastError!} />
        </section>
      ) : null}
      {since ? <h2 className="text-sm font-medium text-faint">As parked</h2> : null}
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="font-mono text-sm font-medium">{visible(event.errorCode)}</span>
        {type ? <span className="font-mono text-sm wrap-anywhere text-muted">{visible(type)}</span> : null}
      </p>
      {text ? <Message text={text} /> : <p className="text-muted">The source gave no message.</p>}
      {stack ? <Stack stack={stack} /> : <p className="text-faint">The source gave no stack.</p>}
    </div>
  );
}
