import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import type { AlertOut } from "@/lib/observe/alerts/alerts.shapes";
import type { Severity } from "@/lib/states/severity.pure";

const SEVERITY_LOOKS: Record<Severity, { shape: ShapeName; colour: string }> = {
  critical: { shape: "triangle", colour: "text-danger" },
  warning: { shape: "disc", colour: "text-warning" },
  info: { shape: "ring", colour: "text-queued" },
};

export function SeverityBadge({ severity, quiet = false }: { severity: Severity; quiet?: boolean }) {
  const { shape, colour } = SEVERITY_LOOKS[severity];
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-1.5 font-mono text-sm whitespace-nowrap",
        quiet ? "text-muted" : colour,
      )}
    >
      <Shape name={shape} />
      {severity}
    </span>
  );
}

/** The state of an alert: what a person has done about it comes before what it does by itself. */
export function AlertState({ alert }: { alert: Pick<AlertOut, "state" | "acknowledgedBy" | "maintenanceUntil"> }) {
  const { shape, word, colour } = stateLook(alert);
  return (
    <span data-tip={MEANINGS[word]} className={`inline-flex items-center gap-1.5 text-sm whitespace-nowrap ${colour}`}>
      <Shape name={shape} />
      {word}
    </span>
  );
}

/** What the state means, and what to do. */
const MEANINGS = {
  resolved: "Its condition no longer holds.",
  pending: "Its condition holds, but not yet for as long as its rule requires.",
  "in maintenance": "It fires, and nobody is notified until the maintenance ends.",
  acknowledged: "Somebody is working on it. Its message is not repeated, and it resolves when its condition ends.",
  firing: "Its condition holds. Acknowledge it, so that others know that you are working on it.",
};

type Look = { shape: ShapeName; word: keyof typeof MEANINGS; colour: string };

function stateLook({
  state,
  acknowledgedBy,
  maintenanceUntil,
}: Pick<AlertOut, "state" | "acknowledgedBy" | "maintenanceUntil">): Look {
  if (state === "resolved") return { shape: "check", word: "resolved", colour: "text-confirmed" };
  if (state === "pending") return { shape: "clock", word: "pending", colour: "text-muted" };
  if (maintenanceUntil !== null) return { shape: "pause", word: "in maintenance", colour: "text-muted" };
  if (acknowledgedBy !== null) return { shape: "half", word: "acknowledged", colour: "text-queued" };
  return { shape: "disc", word: "firing", colour: "text-danger" };
}
