"use client";

import { useEffect, useRef, useState } from "react";

type Tip = { text: string; x: number; y: number; above: boolean };

const TIP_ID = "parkade-tip";
const DELAY_MS = 350;
const GAP = 6;

function placeOf(element: Element, text: string): Tip {
  const box = element.getBoundingClientRect();
  const above = box.bottom + 64 > window.innerHeight;
  const x = Math.min(Math.max(box.left + box.width / 2, 8), window.innerWidth - 8);
  return { text, x, y: above ? box.top - GAP : box.bottom + GAP, above };
}

/**
 * One tooltip for the whole console: an element with `data-tip` shows it on hover and on keyboard focus. A thousand
 * rows with times and ids then need no component and no listener of their own.
 */
export function TipLayer() {
  const [tip, setTip] = useState<Tip | null>(null);
  const popup = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let shown: Element | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const hide = () => {
      clearTimeout(timer);
      if (shown?.getAttribute("aria-describedby") === TIP_ID) shown.removeAttribute("aria-describedby");
      shown = null;
      setTip(null);
    };
    const show = (element: Element | null, delayMs: number) => {
      if (element === shown) return;
      clearTimeout(timer);
      const text = element?.getAttribute("data-tip");
      if (shown) hide();
      if (!element || !text) return;
      shown = element;
      timer = setTimeout(() => {
        if (!element.isConnected) return;
        // A screen reader reads the tip, unless the element has a description or the tip is its name.
        if (!element.hasAttribute("aria-describedby") && element.getAttribute("aria-label") !== text) {
          element.setAttribute("aria-describedby", TIP_ID);
        }
        setTip(placeOf(element, text));
      }, delayMs);
    };
    const nearest = (event: Event) => (event.target instanceof Element ? event.target.closest("[data-tip]") : null);
    const onOver = (event: PointerEvent) => event.pointerType !== "touch" && show(nearest(event), DELAY_MS);
    const onFocus = (event: FocusEvent) => {
      if (event.target instanceof Element && event.target.matches(":focus-visible")) show(nearest(event), DELAY_MS);
    };
    // A tip that a press changes (`Copied`) is shown at once, in place of the old text.
    const observer = new MutationObserver(() => {
      const text = shown?.getAttribute("data-tip");
      if (shown && text) setTip((now) => (now && shown ? placeOf(shown, text) : now));
      else if (shown) hide();
    });
    observer.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["data-tip"] });
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && hide();
    document.addEventListener("pointerover", onOver);
    document.addEventListener("focusin", onFocus);
    document.addEventListener("focusout", hide);
    document.addEventListener("scroll", hide, true);
    document.addEventListener("keydown", onKey);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener("pointerover", onOver);
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("focusout", hide);
      document.removeEventListener("scroll", hide, true);
      document.removeEventListener("keydown", onKey);
    };
  }, []);

  // Kept inside the window once its width is known.
  useEffect(() => {
    const element = popup.current;
    if (!element || !tip) return;
    const half = element.offsetWidth / 2;
    const x = Math.min(Math.max(tip.x, half + 8), window.innerWidth - half - 8);
    element.style.left = `${x}px`;
    element.style.visibility = "visible";
  }, [tip]);

  if (!tip) return null;
  return (
    // A landmark, as all content of a page must be in one.
    <aside aria-label="Tip">
      <div
        ref={popup}
        id={TIP_ID}
        role="tooltip"
        style={{ left: tip.x, top: tip.y, translate: tip.above ? "-50% -100%" : "-50% 0", visibility: "hidden" }}
        className="pointer-events-none fixed z-[60] w-max max-w-[min(480px,90vw)] rounded-md border border-line-strong bg-raised px-2 py-1 text-sm whitespace-pre-line text-ink shadow-pop wrap-anywhere"
      >
        {tip.text}
      </div>
    </aside>
  );
}
