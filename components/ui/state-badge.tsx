import type { ReactNode } from "react";
import type { ShownState } from "@/lib/events/event-state.pure";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { RedriveState } from "@/lib/redrive/states/redrive-state.pure";
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

function Badge(props: { look: Look; word: string; detail?: ReactNode; className?: string }) {
  const { look, word, detail, className } = props;
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-1.5 align-top font-mono text-sm leading-5! whitespace-nowrap",
        look.colour,
        className,
      )}
    >
      <Shape name={look.shape} />
      {word}
      {detail ? <span>{detail}</span> : null}
    </span>
  );
}

/** `remainingMs`: the time until a cooling event has cooled. `behind`: what a held event waits for. */
export function StateBadge(props: {
  state: ShownState;
  remainingMs?: number | null;
  behind?: ReactNode;
  className?: string;
}) {
  const { state, remainingMs, behind, className } = props;
  const detail = state === "COOLING" && remainingMs ? formatDuration(remainingMs) : state === "HELD" ? behind : null;
  return <Badge look={STATE_LOOKS[state]} word={state} detail={detail} className={className} />;
}

/** Green only for a redrive that sent every event: DONE says only that each event is decided. */
export function RedriveBadge({ state, allWent }: { state: keyof typeof REDRIVE_LOOKS; allWent: boolean }) {
  const look = state === "DONE" && !allWent ? { ...REDRIVE_LOOKS.DONE, colour: "text-muted" } : REDRIVE_LOOKS[state];
  return <Badge look={look} word={state} />;
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
