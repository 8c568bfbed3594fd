"use client";

import { useRouter } from "next/navigation";
import { useId } from "react";
import { mendHref } from "@/components/repair/mends/mend-address";
import { ActionButton } from "@/components/ui/action-button";
import { Radio, TextField } from "@/components/ui/input";
import type { Earlier } from "@/lib/order/order-gate.pure";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import type { EarlierOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { earlierOptions, earlierSentence, mendHeadsWords, sampleSentence, strandWords } from "./earlier-words";

const SAMPLES_SHOWN = 3;

type EarlierChoiceProps = {
  earlier: EarlierOut;
  choice: Earlier;
  /** How many can be sent without the earlier versions; null = unknown. */
  eligible: number | null;
  onChoice: (choice: Earlier) => void;
  /** The text that the person typed to leave the earlier versions behind. */
  typed: string;
  onTyped: (text: string) => void;
  error: string | undefined;
  /** False for a dry run: it sends nothing, so nothing must be typed. */
  sends: boolean;
};

/** The earlier versions that the selection leaves parked, and the choices about them. */
export function EarlierChoice({
  earlier,
  choice,
  eligible,
  onChoice,
  typed,
  onTyped,
  error,
  sends,
}: EarlierChoiceProps) {
  const name = useId();
  const router = useRouter();
  return (
    <section aria-label="Earlier versions" className="grid gap-2 rounded-md border border-l-2 border-warning px-3 py-2">
      <p>{earlierSentence(earlier)}</p>
      <ul className="text-sm text-muted">
        {earlier.samples.slice(0, SAMPLES_SHOWN).map((sample) => (
          <li key={sample.id} className="truncate font-mono" data-tip={sample.source}>
            {sampleSentence(sample)}
          </li>
        ))}
      </ul>
      {earlier.headIds.length === 0 ? null : (
        <ActionButton
          needs="edit"
          size="sm"
          className="justify-self-start"
          onClick={() => router.push(mendHref({ ids: earlier.headIds }, randomKey))}
        >
          {mendHeadsWords(earlier)}
        </ActionButton>
      )}
      <div role="radiogroup" aria-label="What happens to the earlier versions" className="grid gap-1.5">
        {earlierOptions(earlier, sends, eligible).map((option) => (
          <label key={option.choice} htmlFor={`${name}-${option.choice}`} className="flex items-baseline gap-2">
            <Radio
              id={`${name}-${option.choice}`}
              name={name}
              className="translate-y-0.5"
              checked={choice === option.choice}
              onChange={() => onChoice(option.choice)}
            />
            <span className="min-w-0">
              {option.label}
              <span className="block text-sm text-muted">{option.detail}</span>
            </span>
          </label>
        ))}
      </div>
      {choice === "pass" && sends ? (
        <TextField
          label={
            <>
              Type <span className="font-mono text-ink">{strandWords(earlier)}</span> to send ahead of them
            </>
          }
          error={error}
          value={typed}
          onValue={onTyped}
          inputClassName="w-40! font-mono"
        />
      ) : null}
    </section>
  );
}
