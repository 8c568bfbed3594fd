import type { ReactNode, Ref } from "react";
import { Field, Textarea } from "./input";

/** The text field of a reason, which the audit keeps. `missing`: submitted without one. Ctrl Enter calls `onSubmit`. */
export function ReasonField(props: {
  value: string;
  onChange: (value: string) => void;
  onSubmit: () => void;
  missing?: boolean;
  hint?: ReactNode;
  optional?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const { value, onChange, onSubmit, missing = false, hint, optional, ref } = props;
  return (
    <Field
      label="Reason"
      optional={optional}
      hint={hint}
      error={missing ? "Say why: the reason is kept in the audit." : undefined}
    >
      {(control) => (
        <Textarea
          {...control}
          ref={ref}
          rows={2}
          maxLength={2_000}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            onSubmit();
          }}
        />
      )}
    </Field>
  );
}
