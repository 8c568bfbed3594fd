import { useEffect, useRef } from "react";

/** Moves the focus to the first wrong field of a form after each press of its button. */
export function useInvalidFocus<Form extends HTMLElement>(presses: number) {
  const form = useRef<Form>(null);
  useEffect(() => {
    if (presses > 0) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [presses]);
  return form;
}
