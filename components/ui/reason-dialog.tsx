"use client";

import { type ComponentProps, type ReactNode, useId, useState } from "react";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import { ActionButton } from "./action-button";
import { Button } from "./button";
import { Dialog } from "./dialog";
import { ErrorPanel } from "./error-panel";
import { ReasonField } from "./reason-field";
import { useInvalidFocus } from "./use-invalid-focus";
import { type Submitted, submits, useSubmit } from "./use-submit";

/** A dialog for one action with a reason, which the audit keeps. Ctrl Enter in the reason field submits. */
export function ReasonDialog({
  needs,
  everySource,
  verb,
  variant = "primary",
  keep = "Cancel",
  reason: wanted = "required",
  reasonHint,
  stops = false,
  answersOnce = false,
  ready = () => true,
  onSubmit,
  children,
  ...dialog
}: Pick<ComponentProps<typeof Dialog>, "title" | "description" | "size" | "onClose"> & {
  /** What whoever submits it must be allowed; null = everybody may. */
  needs: Needs | null;
  /** With `needs`: the change concerns every source. */
  everySource?: boolean | undefined;
  /** The label of the submit button; null = nothing can be done, so there is none. */
  verb: ReactNode | null;
  variant?: "primary" | "danger";
  /** The label of the button that closes the dialog without a change. */
  keep?: string;
  reason?: "required" | "optional" | "none";
  reasonHint?: string;
  /** The action stops something, so it is allowed on old data. */
  stops?: boolean;
  /** The answer is shown once and not stored: the dialog cannot be closed, and the answer lost, while the request runs. */
  answersOnce?: boolean;
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
  const look = { variant, type: "submit", form, busy, disabled: !enabled, everySource } as const;
  return (
    <Dialog
      {...dialog}
      stays={answersOnce && busy}
      footer={
        <>
          <Button disabled={answersOnce && busy} onClick={dialog.onClose}>
            {keep}
          </Button>
          {verb === null ? null : (
            <Submit needs={needs} stops={stops} {...look}>
              {verb}
            </Submit>
          )}
        </>
      }
    >
      <form id={form} ref={ref} className="grid grid-cols-[minmax(0,1fr)] gap-4" onSubmit={submits(press)}>
        {error ? <ErrorPanel error={error} inline title="Request failed" /> : null}
        {typeof children === "function" ? children(presses > 0) : children}
        {wanted === "none" ? null : (
          <ReasonField
            optional={wanted === "optional"}
            hint={reasonHint}
            missing={presses > 0 && missing}
            value={text}
            onChange={setText}
          />
        )}
      </form>
    </Dialog>
  );
}

function Submit({ stops, needs, ...button }: ComponentProps<typeof ActionButton> & { stops: boolean }) {
  return stops ? <Button {...button} needs={needs ?? undefined} /> : <ActionButton {...button} needs={needs} />;
}
