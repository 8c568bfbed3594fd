"use client";

import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { ActionButton } from "./action-button";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { ErrorPanel } from "./error-panel";
import { ReasonField } from "./reason-field";
import { useInvalidFocus } from "./use-invalid-focus";
import { type Submitted, useSubmit } from "./use-submit";

/** A dialog for one action with a reason, which the audit keeps. Ctrl Enter in the reason field submits. */
export function ReasonDialog({
  verb,
  variant = "primary",
  keep = "Cancel",
  reason: wanted = "required",
  reasonHint,
  stops = false,
  ready = () => true,
  onSubmit,
  children,
  ...dialog
}: Pick<ComponentProps<typeof Dialog>, "title" | "description" | "size" | "onClose"> & {
  /** The label of the submit button; null = nothing can be done, so there is none. */
  verb: ReactNode | null;
  variant?: "primary" | "danger";
  /** The label of the button that closes the dialog without a change. */
  keep?: string;
  reason?: "required" | "optional" | "none";
  reasonHint?: string;
  /** The action stops something, so it is allowed on old data. */
  stops?: boolean;
  /** False disables the submit button. A missing reason does not disable it: a press shows the error. */
  ready?: (reason: string) => boolean;
  /** "stay" keeps the dialog open, as when a field is wrong; such a field has `aria-invalid` after the first press. */
  onSubmit: (reason: string) => Promise<Submitted>;
  children?: ReactNode | ((pressed: boolean) => ReactNode);
}) {
  const form = useId();
  const [text, setText] = useState("");
  const [presses, setPresses] = useState(0);
  const ref = useInvalidFocus<HTMLFormElement>(presses);
  const { busy, error, submit } = useSubmit(dialog.onClose);
  const reason = text.trim();
  const missing = wanted === "required" && reason === "";
  const enabled = ready(reason);
  const press = () => {
    if (!enabled || verb === null) return;
    setPresses((count) => count + 1);
    void submit(async () => (missing ? "stay" : onSubmit(reason)));
  };
  const Do = stops ? Button : ActionButton;
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={dialog.onClose}>{keep}</Button>
          {verb === null ? null : (
            <Do variant={variant} type="submit" form={form} busy={busy} disabled={!enabled}>
              {verb}
            </Do>
          )}
        </>
      }
    >
      <form
        id={form}
        ref={ref}
        className="grid grid-cols-[minmax(0,1fr)] gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          press();
        }}
      >
        {error ? <ErrorPanel error={error} inline title="This was not done" /> : null}
        {typeof children === "function" ? children(presses > 0) : children}
        {wanted === "none" ? null : (
          <ReasonField
            optional={wanted === "optional"}
            hint={reasonHint}
            missing={presses > 0 && missing}
            value={text}
            onChange={setText}
            onSubmit={() => ref.current?.requestSubmit()}
          />
        )}
      </form>
    </Dialog>
  );
}
