"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { useStaleReason } from "@/lib/platform/browser/freshness.browser";
import { buttonClass } from "./button";
import { classNames } from "./class-names";

const WIDTHS = { sm: "sm:w-[440px]", md: "sm:w-[640px]", lg: "sm:w-[880px]", xl: "sm:w-[min(1180px,96vw)]" };

/**
 * A modal dialog. Mount it to open it, unmount it to close it; its state ends with it. On a phone it fills the bottom
 * of the screen. Load files that use it lazily (`lazily`).
 */
export function Dialog(props: {
  title: ReactNode;
  description?: ReactNode;
  size?: keyof typeof WIDTHS;
  onClose: () => void;
  /** Escape, a click outside and a cross do not close it: what it shows is gone then. The footer has the way out. */
  stays?: boolean;
  /** Called on Enter while no control inside has the focus: for a dialog that only asks. */
  onEnter?: () => void;
  /** Buttons, right-aligned; the main action is last. */
  footer?: ReactNode;
  children?: ReactNode;
}) {
  const { title, description, size = "md", onClose, stays = false, onEnter, footer, children } = props;
  const body = useRef<HTMLDivElement>(null);
  // The first field takes the focus. A dialog without fields takes it itself, not its close button.
  const firstField = () =>
    body.current?.querySelector<HTMLElement>("input:not(:disabled), textarea, select") ??
    body.current?.closest<HTMLElement>("[role=dialog]");
  return (
    <Base.Root open onOpenChange={(open) => (open || stays ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_11_14/0.45)]" />
        <Base.Popup
          initialFocus={firstField}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.target !== event.currentTarget || onEnter === undefined) return;
            // The dialog closes at once: the button behind it that gets the focus back must not be pressed by the same key.
            event.preventDefault();
            if (!event.repeat) onEnter();
          }}
          className={classNames(
            "enter fixed z-50 flex max-h-[90dvh] flex-col border border-line-strong bg-raised text-ink shadow-pop outline-none",
            "inset-x-0 bottom-0 rounded-t-lg sm:inset-x-auto sm:top-[10dvh] sm:bottom-auto sm:left-1/2 sm:max-h-[80dvh] sm:-translate-x-1/2 sm:rounded-lg",
            WIDTHS[size],
          )}
        >
          <header className="flex items-start gap-3 border-b border-line px-4 py-3">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-lg font-semibold text-balance">{title}</Base.Title>
              {description ? <Base.Description className="mt-0.5 text-muted">{description}</Base.Description> : null}
            </div>
            {stays ? null : (
              <Base.Close aria-label="Close" className={buttonClass({ variant: "ghost" }, "-mr-1 w-7 px-0!")}>
                <X size={14} aria-hidden />
              </Base.Close>
            )}
          </header>
          <div ref={body} className="min-h-0 flex-1 overflow-y-auto px-4 py-3 empty:hidden">
            {children}
          </div>
          <StaleNotice />
          {footer ? (
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t border-line px-4 py-3">
              {footer}
            </footer>
          ) : null}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** While the data behind the dialog is old the dialog says so, and its buttons do nothing. */
function StaleNotice() {
  const reason = useStaleReason();
  return reason === null ? null : (
    <p role="status" className="border-t border-warning px-4 py-2 text-warning">
      {reason}
    </p>
  );
}
