"use client";

import { Download, Eye, EyeOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, type ButtonLook, IconButton } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { TextLink } from "@/components/ui/text-link";
import { failureToast } from "@/components/ui/toast";
import { payloadHref } from "@/lib/events/events.browser";
import type { EventDetail } from "@/lib/events/events.shapes";
import { rememberedReason, rememberReason, revealEvent } from "@/lib/guard/masking/masking.browser";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { plural } from "@/lib/platform/plain/format.pure";
import type { RevealedEvent } from "@/lib/repair/revisions/reveal.shapes";

const ReasonDialog = lazily(() => import("@/components/ui/reason-dialog"), "ReasonDialog");

const ONE_EVENT = {
  title: "Show what is masked",
  description: "The audit log records who looked at which event, and why. This tab reuses the reason for 15 minutes.",
  verb: "Reveal",
};

/**
 * Does something that shows what is masked, with a reason: one that this tab was given in the last quarter of an hour, else a dialog
 * asks for it. `many`: the words of the dialog for a set of events, which always asks.
 */
export function useRevealReason(
  work: (reason: string) => Promise<void> | void,
  many?: typeof ONE_EVENT,
): {
  start: () => void;
  busy: boolean;
  dialog: ReactNode;
} {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const start = () => {
    const reason = many ? null : rememberedReason();
    if (reason === null) return setAsking(true);
    setBusy(true);
    Promise.resolve(work(reason))
      .catch((error: unknown) => failureToast("Nothing was revealed", error))
      .finally(() => setBusy(false));
  };
  const dialog = asking ? (
    <ReasonDialog
      needs="reveal"
      {...(many ?? ONE_EVENT)}
      onClose={() => setAsking(false)}
      onSubmit={async (reason) => {
        await work(reason);
        if (!many) rememberReason(reason);
      }}
    />
  ) : null;
  return { start, busy, dialog };
}

/** The event as it may be shown here: masked, or what was revealed of the same revision. */
export function useReveal(event: EventDetail) {
  const [found, setFound] = useState<RevealedEvent | null>(null);
  const reveal = useRevealReason(async (reason) => setFound(await revealEvent(event.id, { reason })));
  const revealed = found?.event.id === event.id && found.event.revision === event.revision ? found.event : null;
  return {
    shown: revealed === null ? event : withRevealed(event, revealed),
    revealed,
    hide: () => setFound(null),
    reveal,
  };
}

/** State and counts are those of the last answer: a revealed event is not read again. */
function withRevealed(event: EventDetail, revealed: EventDetail): EventDetail {
  const { body, headers, origin, tags, lastError, errorDetail, group, admitted } = revealed;
  const history = revealed.history.length === event.history.length ? revealed.history : event.history;
  return { ...event, body, headers, origin, tags, lastError, errorDetail, group, admitted, history };
}

function isMasked({ body, headers, origin, tags, lastError, errorDetail, history }: EventDetail): boolean {
  return body.masked || JSON.stringify([headers, origin, tags, lastError, errorDetail, history]).includes(REDACTED);
}

/** What is masked of an event, and the way to see it. `editing`: what is edited stays revealed. */
export function RevealNote(props: { event: EventDetail; state: ReturnType<typeof useReveal>; editing?: boolean }) {
  const { event, state, editing = false } = props;
  const { revealed, hide, reveal } = state;
  if (revealed === null && !isMasked(event)) return null;
  const Icon = revealed === null ? EyeOff : Eye;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-3 py-1 text-muted">
      <Icon size={13} aria-hidden className="shrink-0" />
      <span className="min-w-0">
        {revealed === null ? maskedWords(event) : "Nothing is masked here now. The audit log records that you looked."}{" "}
        <TextLink href="/masking" className="underline">
          Rules
        </TextLink>
      </span>
      <span className="ml-auto" />
      {revealed === null ? (
        <Button size="sm" needs="reveal" busy={reveal.busy} onClick={reveal.start}>
          Reveal…
        </Button>
      ) : editing ? null : (
        <Button size="sm" onClick={hide}>
          Mask again
        </Button>
      )}
      {reveal.dialog}
    </div>
  );
}

function maskedWords({ body }: EventDetail): string {
  if (!body.masked) return "Values outside the payload are masked.";
  const { decoded } = body;
  if (decoded !== null && decoded.text !== null && decoded.maskedCount !== null)
    return `The stored bytes are masked${decoded.maskedCount === 0 ? "" : `, and ${plural(decoded.maskedCount, "value")} of the decoded text`}.`;
  if (body.maskedCount === null) return "The whole payload is masked, because its content could not be read.";
  return `${plural(body.maskedCount, "value")} of the payload ${body.maskedCount === 1 ? "is" : "are"} masked.`;
}

/** An event with the note above it; `children` shows the event as it may be shown. */
export function Revealable(props: { event: EventDetail; children: (shown: EventDetail) => ReactNode }) {
  const state = useReveal(props.event);
  return (
    <>
      <RevealNote event={props.event} state={state} />
      {props.children(state.shown)}
    </>
  );
}

/** Downloads the exact bytes of a payload, which are not masked. */
export function DownloadPayload(props: { eventId: string; revision: number | undefined }) {
  const { eventId, revision } = props;
  const { start, dialog } = useRevealReason((reason) => download(payloadHref(eventId, { revision, reason })));
  return (
    <>
      <IconButton size="sm" needs="reveal" label="Download the exact bytes" onClick={start}>
        <Download size={13} aria-hidden />
      </IconButton>
      {dialog}
    </>
  );
}

/** By an anchor, as the browser itself does it: nothing of the file is in the memory of the page. */
export function download(href: string): void {
  const anchor = document.createElement("a");
  anchor.href = href;
  anchor.download = "";
  anchor.click();
}

/** Revisions with nothing masked, by their numbers. */
export function useRevealRevisions(eventId: string, revisions: readonly number[]) {
  const [found, setFound] = useState<RevealedEvent["revisions"]>([]);
  const reveal = useRevealReason(async (reason) =>
    setFound((await revealEvent(eventId, { reason, revisions: [...revisions] })).revisions),
  );
  const details = revisions.map((wanted) => found.find(({ revision }) => revision === wanted) ?? null);
  return { details, reveal };
}

export function RevealButton(props: ButtonLook & { reveal: ReturnType<typeof useRevealReason> }) {
  const { reveal, ...look } = props;
  return (
    <>
      <Button size="sm" {...look} needs="reveal" busy={reveal.busy} onClick={reveal.start}>
        Reveal…
      </Button>
      {reveal.dialog}
    </>
  );
}
