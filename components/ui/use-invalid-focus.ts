import { useEffect, useRef } from "react";

/** Moves the focus to the first wrong field of a form after each press of its button. */
export function useInvalidFocus<Form extends HTMLElement>(presses: number) {
  const form = useRef<Form>(null);
  useEffect(() => {
    const wrong = presses > 0 ? form.current?.querySelector<HTMLElement>("[aria-invalid=true]") : null;
    wrong?.focus({ preventScroll: true });
    // Its label and its fault are in view, too.
    wrong?.scrollIntoView({ block: "center" });
  }, [presses]);
  return form;
}
