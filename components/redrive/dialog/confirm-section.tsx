import { Field, Textarea, TextField } from "@/components/ui/input";
import type { SectionProps } from "./form-row";
import { confirmationOf } from "./redrive-draft";

export function ReasonSection({ mode, draft, problems, set, optional }: SectionProps & { optional: boolean }) {
  return (
    <Field
      label="Reason"
      optional={optional}
      error={problems.reason}
      hint={mode === "deliver" ? "Recorded in the audit log." : undefined}
    >
      {(control) => (
        <Textarea
          {...control}
          rows={2}
          maxLength={2_000}
          value={draft.reason}
          placeholder="stock service back since 13:58"
          onChange={(event) => set({ reason: event.target.value })}
        />
      )}
    </Field>
  );
}

/** The count that the person types before a large redrive; nothing where a click is enough. */
export function TypedCount({ draft, preview, problems, set }: SectionProps) {
  const confirmation = confirmationOf(preview);
  if (confirmation.kind === "click" || preview.eligible === 0) return null;
  return (
    <TextField
      label={
        <>
          Type <span className="font-mono text-ink">{confirmation.expected}</span> to confirm
        </>
      }
      error={problems.typed}
      value={draft.typed}
      onValue={(typed) => set({ typed })}
      inputClassName="w-40! font-mono"
    />
  );
}
