import Link from "next/link";
import type { ReactNode } from "react";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { ShownState } from "@/lib/states/event-state.pure";
import type { RedriveState } from "@/lib/states/redrive-state.pure";
import { classNames } from "./class-names";
import { Shape, type ShapeName } from "./shape";

type Look = { shape: ShapeName; colour: string };

/** The word, the shape and the colour of each state of an event, equal on every page. */
export const STATE_LOOKS: Record<ShownState, Look> = {
  PENDING: { shape: "disc", colour: "text-pending" },
  QUEUED: { shape: "half", colour: "text-queued" },
  REDRIVEN: { shape: "arrow", colour: "text-redriven" },
  CONFIRMED: { shape: "check", colour: "text-confirmed" },
  BOUNCED: { shape: "return", colour: "text-bounced" },
  IGNORED: { shape: "barred", colour: "text-ignored" },
  BLACKLISTED: { shape: "triangle", colour: "text-blacklisted" },
  COOLING: { shape: "clock", colour: "text-cooling" },
  HELD: { shape: "pause", colour: "text-pending" },
};

/** What a state means and what can be done, as in the glossary. */
export const STATE_MEANINGS: Record<ShownState, string> = {
  PENDING: "Parked. It can be redriven, repaired or ignored.",
  QUEUED: "Part of a redrive that has not ended yet. To take it out, cancel the redrive.",
  REDRIVEN: "Sent, and the target accepted it. Not yet known to be processed.",
  CONFIRMED:
    "Processed: the consumer confirmed it, or it did not fail again within the quiet window, 10 minutes by default.",
  BOUNCED:
    "Redriven, failed again and parked again. It is redriven like any parked event, and counts as a failure of its redrive.",
  IGNORED: "Set aside by a person. It is neither sent nor counted as parked; release it to make it PENDING again.",
  BLACKLISTED: "A control refuses every redrive of it. Lift the control to redrive it.",
  COOLING: "Failed a short time ago and cannot be redriven until the cooldown ends. A whitelist overrides it.",
  HELD: "Parked behind an earlier event of its aggregate, the head. Redrive, repair or skip the head first.",
};

/** `WAITING`: for an approval, a time or a breaker. `UNDONE`: a mend that was undone. */
const REDRIVE_LOOKS: Record<RedriveState | "WAITING" | "UNDONE", Look> = {
  WAITING: { shape: "clock", colour: "text-pending" },
  PLANNING: { shape: "ring", colour: "text-muted" },
  PLANNED: { shape: "half", colour: "text-queued" },
  RUNNING: { shape: "arrow", colour: "text-queued" },
  PAUSED: { shape: "pause", colour: "text-pending" },
  DONE: { shape: "check", colour: "text-confirmed" },
  CANCELLED: { shape: "cross", colour: "text-ignored" },
  UNDONE: { shape: "return", colour: "text-ignored" },
};

/** Of redrives and bulk changes. */
const REDRIVE_MEANINGS: Record<keyof typeof REDRIVE_LOOKS, string> = {
  WAITING: "Waits for an approval, a time or a breaker. Its page says which; you can start or cancel it there.",
  PLANNING: "Its set of events is being frozen. Nothing is sent yet; it can be cancelled.",
  PLANNED: "Its set of events is frozen. It starts automatically.",
  RUNNING: "In progress. Follow it and stop it on its page.",
  PAUSED: "Sends nothing until it is resumed. Cancel it to get its open events back.",
  DONE: "Finished. Its page says what became of each event.",
  CANCELLED: "Stopped by a person. Open events are parked again; sent events are not recalled.",
  UNDONE: "The mend was undone: its events are as before.",
};

type BadgeProps = {
  look: Look;
  word: string;
  detail?: ReactNode;
  tip?: string;
  href?: string | undefined;
  className?: string;
};

function Badge({ look, word, detail, tip, href, className }: BadgeProps) {
  return (
    <span
      data-tip={tip}
      className={classNames(
        "inline-flex items-center gap-1.5 align-top font-mono text-sm leading-5! whitespace-nowrap",
        look.colour,
        className,
      )}
    >
      <Shape name={look.shape} />
      {/* The word alone: what holds an event may be a link itself. */}
      {href === undefined ? (
        word
      ) : (
        <Link href={href} prefetch={false}>
          {word}
        </Link>
      )}
      {detail ? <span>{detail}</span> : null}
    </span>
  );
}

/**
 * `remainingMs`: the time until a cooling event has cooled. `behind`: what a held event waits for. `cause`: why it is in this state.
 * `linked`: to the glossary, so that the keyboard reaches what its tip says; not in a list, where each row would be a stop.
 */
export function StateBadge(props: {
  state: ShownState;
  remainingMs?: number | null;
  behind?: ReactNode;
  cause?: string | undefined;
  linked?: boolean | undefined;
  className?: string;
}) {
  const { state, remainingMs, behind, cause, linked = false, className } = props;
  const detail = state === "COOLING" && remainingMs ? formatDuration(remainingMs) : state === "HELD" ? behind : null;
  const tip = [cause, STATE_MEANINGS[state]].filter(Boolean).join("\n");
  const href = linked ? `/glossary#${state}` : undefined;
  return <Badge {...{ look: STATE_LOOKS[state], word: state, detail, tip, href, className }} />;
}

/** Green only for a redrive that sent every event: DONE says only that each event has ended. */
export function RedriveBadge({ state, allWent }: { state: keyof typeof REDRIVE_LOOKS; allWent: boolean }) {
  const look = state === "DONE" && !allWent ? { ...REDRIVE_LOOKS.DONE, colour: "text-muted" } : REDRIVE_LOOKS[state];
  return <Badge look={look} word={state} tip={REDRIVE_MEANINGS[state]} />;
}

/** A dot with its word: `worker ● alive`. For health, not for states of events. */
export function Health({ ok, word, unknown }: { ok: boolean; word: string; unknown?: boolean }) {
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-1 whitespace-nowrap",
        unknown ? "text-muted" : ok ? "text-ok" : "text-danger",
      )}
    >
      <Shape name={unknown ? "ring" : ok ? "disc" : "triangle"} className="size-2.5 shrink-0" />
      {word}
    </span>
  );
}
