import type { ReactNode, Ref } from "react";
import { Field, Textarea } from "./input";

/** Submits like the form's button: nothing happens while that is disabled, or if there is none. */
export function submitByKey(form: Pick<HTMLFormElement, "elements" | "requestSubmit"> | null): void {
  const button = [...(form?.elements ?? [])].find((element) => (element as HTMLButtonElement).type === "submit");
  if (button && button.getAttribute("aria-disabled") !== "true") form?.requestSubmit();
}

/** The text field of a reason, which the audit keeps. `missing`: submitted without one. Ctrl Enter submits its form. */
export function ReasonField(props: {
  value: string;
  onChange: (value: string) => void;
  missing?: boolean;
  hint?: ReactNode;
  optional?: boolean;
  ref?: Ref<HTMLTextAreaElement>;
}) {
  const { value, onChange, missing = false, hint, optional, ref } = props;
  return (
    <Field
      label="Reason"
      optional={optional}
      hint={hint}
      error={missing ? "Enter a reason: it is recorded in the audit log." : undefined}
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
            submitByKey(event.currentTarget.form);
          }}
        />
      )}
    </Field>
  );
}
