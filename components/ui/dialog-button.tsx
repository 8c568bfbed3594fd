"use client";

import { type ComponentProps, type ReactNode, useState } from "react";
import { Button, type ButtonProps } from "./button";
import { lazily } from "./lazily";

const ReasonDialog = lazily(() => import("./reason-dialog"), "ReasonDialog");

type Props = Omit<ButtonProps, "onClick"> & { "data-tip"?: string };

/** A button that opens a dialog. A dialog that must outlive its button, as on an empty page, belongs to the page. */
export function DialogButton({ dialog, ...button }: Props & { dialog: (onClose: () => void) => ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {open ? dialog(() => setOpen(false)) : null}
    </>
  );
}

/** A button for an action that a dialog confirms. Both need the same permission. */
export function ConfirmButton({
  confirm,
  ...button
}: Props & { confirm: Omit<ComponentProps<typeof ReasonDialog>, "needs" | "everySource" | "onClose"> }) {
  const { needs = null, everySource } = button;
  return (
    <DialogButton
      {...button}
      dialog={(onClose) => <ReasonDialog {...confirm} needs={needs} everySource={everySource} onClose={onClose} />}
    />
  );
}
