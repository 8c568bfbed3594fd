import Link from "next/link";
import type { ComponentProps, ReactNode } from "react";
import type { Needs } from "@/lib/guard/viewer/viewer.pure";
import { classNames } from "./class-names";
import { GuardedButton } from "./guarded-button";

export type ButtonLook = {
  /** `primary`: the main action of the page or dialog, at most one in view. `danger`: removes something. */
  variant?: "primary" | "secondary" | "ghost" | "danger";
  size?: "sm" | "md";
};

const VARIANTS: Record<NonNullable<ButtonLook["variant"]>, string> = {
  primary: "bg-accent text-on-accent border-transparent hover:bg-accent-hover",
  secondary: "bg-raised text-ink border-line-strong hover:bg-hover",
  ghost: "bg-transparent text-muted border-transparent hover:bg-hover hover:text-ink",
  danger: "bg-raised text-danger border-line-strong hover:border-danger",
};

export function buttonClass({ variant = "secondary", size = "md" }: ButtonLook, extra?: string): string {
  return classNames(
    "touch inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none",
    "transition-colors duration-100 disabled:opacity-50 aria-disabled:opacity-50 disabled:pointer-events-none",
    size === "sm" ? "h-6 px-2 text-sm" : "h-7 px-2.5",
    VARIANTS[variant],
    extra,
  );
}

export type ButtonProps = ComponentProps<"button"> &
  ButtonLook & {
    /** Shown while it works; also disables. */
    busy?: boolean;
    /** What whoever presses it must be allowed: without the right it shows why, and does nothing. */
    needs?: Needs | undefined;
    /** With `needs`: the change concerns every source. */
    everySource?: boolean | undefined;
  };

export function Button({ needs, everySource, ...props }: ButtonProps) {
  if (needs !== undefined) return <GuardedButton needs={needs} everySource={everySource} {...props} />;
  const { variant, size, busy, className, disabled, children, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={buttonClass({ variant, size }, className)}
    >
      {children}
    </button>
  );
}

/** The button below a list that reads its next page; absent after the last page. */
export function NextPageButton(props: {
  read: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
  children: string;
}) {
  if (!props.read.hasNextPage) return null;
  return (
    <div className="flex justify-center p-3">
      <Button busy={props.read.isFetchingNextPage} onClick={() => props.read.fetchNextPage()}>
        {props.children}
      </Button>
    </div>
  );
}

export function LinkButton({ variant, size, className, ...rest }: ComponentProps<typeof Link> & ButtonLook) {
  return <Link {...rest} className={buttonClass({ variant, size }, className)} />;
}

/** A square button with an icon; its label is its accessible name and its tooltip. */
export function IconButton(
  props: Omit<ButtonProps, "aria-label" | "variant"> & { label: string; shortcut?: string; children: ReactNode },
) {
  const { label, shortcut, size = "md", className, children, ...rest } = props;
  return (
    <Button
      {...rest}
      variant="ghost"
      size={size}
      aria-label={label}
      data-tip={shortcut ? `${label}  ${shortcut}` : label}
      className={classNames(size === "sm" ? "w-6 px-0!" : "w-7 px-0!", className)}
    >
      {children}
    </Button>
  );
}
