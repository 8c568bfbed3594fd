import { useRef, useState } from "react";
import { showToast, type Toast } from "./toast";

/** The result of a submitted dialog: a toast, nothing, or "stay" while its fields are wrong. */
export type Submitted = Toast | "stay" | undefined;

/**
 * Runs the action of a dialog or form, one call at a time. After success the dialog closes and the toast is shown; after
 * an error the dialog stays open, shows the error and keeps its fields.
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
