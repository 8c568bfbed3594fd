import { useRef, useState } from "react";
import { showToast, type Toast } from "./toast";

/** What a submitted dialog ends in: a toast, nothing to say, or "stay": its fields are not right yet. */
export type Submitted = Toast | "stay" | undefined;

/**
 * Runs the work of a dialog once at a time. When it resolves the dialog closes and the toast is shown; an error it
 * rejects with is kept for the dialog to show, which stays with everything that was typed.
 */
export function useSubmit(onClose: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // Two clicks can come before the state of the first is rendered.
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
