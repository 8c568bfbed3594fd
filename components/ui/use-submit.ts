import { type FormEvent, useRef, useState } from "react";
import { showToast, type Toast } from "./toast";

/** The result of a submitted dialog: a toast to show, nothing, or "stay": the dialog stays open. */
// biome-ignore lint/suspicious/noConfusingVoidType: an action that shows nothing ends without a return
export type Submitted = Toast | "stay" | void;

/** The `onSubmit` of a form that stays in its page. */
export const submits = (work: () => unknown) => (event: FormEvent) => {
  event.preventDefault();
  work();
};

/**
 * Runs the action of a dialog or form, one call at a time. After success the dialog closes and the toast is shown; after
 * "stay" or an error it stays open with its fields, and an error is shown.
 */
export function useSubmit(onClose: () => void = () => undefined) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // A second click can come before the state of the first is rendered.
  const running = useRef(false);
  const submit = async (work: () => Promise<Submitted>): Promise<void> => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(null);
    try {
      const submitted = await work();
      if (submitted === "stay") return;
      onClose();
      if (submitted) void showToast(submitted);
    } catch (failure) {
      setError(failure);
    } finally {
      running.current = false;
      setBusy(false);
    }
  };
  return { busy, error, submit };
}
