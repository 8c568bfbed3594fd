"use client";

import { useId } from "react";
import { Checkbox } from "@/components/ui/input";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { CONFIRMABLE_REFUSALS, type ConfirmableRefusal } from "@/lib/states/refusal.pure";

const ASKED: Record<ConfirmableRefusal, (one: boolean) => string> = {
  "parked-early": (one) =>
    one ? "was parked early: its failure is permanent" : "were parked early: their failures are permanent",
  "needs-confirmation": (one) => (one ? "needs confirmation" : "need confirmation"),
  "payload-unparsable": (one) =>
    one
      ? "has a payload that does not parse; it is sent unchanged"
      : "have payloads that do not parse; they are sent unchanged",
};

/** What a person is asked about: how many events, and whether this redrive sends them all the same. */
export function DespiteChoice(props: {
  /** The preview of the selection before anything was set aside; absent = not there yet. */
  preview: Pick<PreviewOut, "refused" | "sample"> | undefined;
  despite: readonly ConfirmableRefusal[];
  onDespite: (despite: ConfirmableRefusal[]) => void;
}) {
  const { preview, despite, onDespite } = props;
  const id = useId();
  const refused = preview?.refused ?? {};
  /** Of a selection that is too large to be checked whole. */
  const found = preview?.sample?.refused ?? {};
  const asked = CONFIRMABLE_REFUSALS.filter((reason) => (refused[reason] ?? found[reason] ?? 0) > 0);
  if (asked.length === 0) return null;
  return (
    <section aria-label="To confirm" className="grid gap-1.5 rounded-md border border-l-2 border-warning px-3 py-2">
      {asked.map((reason) => {
        const count = refused[reason] ?? null;
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
              Send{" "}
              {count === null
                ? "the events that"
                : count === 1
                  ? "the event that"
                  : `the ${formatNumber(count)} events that`}{" "}
              {ASKED[reason](count === 1)}
              {count === null
                ? ` (${formatNumber(found[reason]!)} of ${formatNumber(preview!.sample!.checked)} events sampled)`
                : ""}
            </span>
          </label>
        );
      })}
      <p className="text-sm text-muted">The audit log records what you confirm here. All other checks still apply.</p>
    </section>
  );
}
