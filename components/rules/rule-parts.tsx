import { ArrowDown, ArrowUp } from "lucide-react";
import Link from "next/link";
import { IconButton } from "@/components/ui/button";
import { Shape } from "@/components/ui/shape";
import { shortenId } from "@/lib/platform/plain/format.pure";

const LOOKS = {
  ON: { shape: "disc", colour: "text-ok" },
  OFF: { shape: "ring", colour: "text-ignored" },
  FAULT: { shape: "triangle", colour: "text-danger" },
  STOPPED: { shape: "triangle", colour: "text-danger" },
} as const;

/** The state of a rule, by word, shape and colour. */
export function RuleState({ state }: { state: keyof typeof LOOKS }) {
  const { shape, colour } = LOOKS[state];
  return (
    <span className={`inline-flex shrink-0 items-center gap-1.5 font-mono text-sm ${colour}`}>
      <Shape name={shape} />
      {state}
    </span>
  );
}

/** An event that a rule was tried on. It opens beside the dialog of the rule. */
export function TriedEvent({ id, eventId }: { id: string; eventId: string }) {
  return (
    <Link
      href={`/events/${id}`}
      target="_blank"
      prefetch={false}
      data-tip={eventId}
      className="font-mono text-sm whitespace-nowrap text-accent hover:underline"
    >
      {shortenId(eventId, 20, 8)}
    </Link>
  );
}

type Neighbour = { name: string; position: number } | null;

/** Moves a rule before the one above it, or behind the one below it. */
export function RuleMoves({
  name,
  above,
  below,
  onMove,
}: {
  name: string;
  above: Neighbour;
  below: Neighbour;
  onMove: (change: { position: number; reason: string }) => void;
}) {
  const move = (to: Neighbour, words: string) => {
    if (to !== null) onMove({ position: to.position, reason: `moved ${words} ${to.name}`.slice(0, 2_000) });
  };
  return (
    <>
      <IconButton size="sm" label={`Move ${name} up`} disabled={above === null} onClick={() => move(above, "above")}>
        <ArrowUp size={14} aria-hidden />
      </IconButton>
      <IconButton size="sm" label={`Move ${name} down`} disabled={below === null} onClick={() => move(below, "below")}>
        <ArrowDown size={14} aria-hidden />
      </IconButton>
    </>
  );
}
