"use client";

import { useId } from "react";
import { Checkbox } from "@/components/ui/input";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { CONFIRMABLE_REFUSALS, type ConfirmableRefusal } from "@/lib/redrive/gate/refusal.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";

const ASKED: Record<ConfirmableRefusal, (one: boolean) => string> = {
  "parked-early": (one) =>
    one ? "was parked early: its failure is permanent" : "were parked early: their failures are permanent",
  "needs-confirmation": (one) => (one ? "needs a confirmation" : "need a confirmation"),
};

/** What admission asks a person about: how many events, and whether this redrive sends them all the same. */
export function DespiteChoice(props: {
  /** The refusals of the selection before anything was set aside. */
  refused: PreviewOut["refused"];
  despite: readonly ConfirmableRefusal[];
  onDespite: (despite: ConfirmableRefusal[]) => void;
}) {
  const { refused, despite, onDespite } = props;
  const id = useId();
  const asked = CONFIRMABLE_REFUSALS.filter((reason) => (refused[reason] ?? 0) > 0);
  if (asked.length === 0) return null;
  return (
    <section aria-label="To confirm" className="grid gap-1.5 rounded-md border border-l-2 border-warning px-3 py-2">
      {asked.map((reason) => {
        const count = refused[reason]!;
        return (
          <label key={reason} htmlFor={`${id}-${reason}`} className="flex items-baseline gap-2">
            <Checkbox
              id={`${id}-${reason}`}
              className="translate-y-0.5"
              checked={despite.includes(reason)}
              onChange={(event) =>
                onDespite(event.target.checked ? [...despite, reason] : despite.filter((each) => each !== reason))
              }
            />
            <span>
              Send {count === 1 ? "the event that" : `the ${formatNumber(count)} events that`}{" "}
              {ASKED[reason](count === 1)}
            </span>
          </label>
        );
      })}
      <p className="text-sm text-muted">The audit keeps what is confirmed here. All other checks still apply.</p>
    </section>
  );
}
