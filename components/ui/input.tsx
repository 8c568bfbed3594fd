import { type ComponentProps, type ReactNode, useId } from "react";
import { classNames } from "./class-names";

const BOX =
  "w-full rounded-md border border-control bg-surface text-ink placeholder:text-faint disabled:opacity-50 aria-invalid:border-danger";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return (
    <input
      type="text"
      autoComplete="off"
      spellCheck={false}
      {...rest}
      className={classNames(BOX, "h-7 px-2", className)}
    />
  );
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea rows={3} {...rest} className={classNames(BOX, "px-2 py-1", className)} />;
}

/** A text area for JSON, settings or lists: equal widths, no spelling. */
export function CodeTextarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <Textarea spellCheck={false} {...rest} className={classNames("font-mono text-sm", className)} />;
}

export function Checkbox({ className, ...rest }: Omit<ComponentProps<"input">, "type">) {
  return <input type="checkbox" {...rest} className={classNames("size-3.5 shrink-0 cursor-pointer", className)} />;
}

export function Radio({ className, ...rest }: Omit<ComponentProps<"input">, "type">) {
  return <input type="radio" {...rest} className={classNames("size-3.5 shrink-0 cursor-pointer", className)} />;
}

export type FieldControl = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined };

/**
 * A label with its control, its hint and its error, connected by ids. The child function renders the control and
 * spreads its argument on it.
 */
export function Field({
  label,
  hint,
  error,
  optional,
  className,
  children,
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  optional?: boolean;
  className?: string;
  children: (control: FieldControl) => ReactNode;
}) {
  const id = useId();
  const describedBy = [hint ? `${id}-hint` : null, error ? `${id}-error` : null].filter(Boolean).join(" ");
  return (
    <div className={classNames("flex flex-col gap-1", className)}>
      <label htmlFor={id} className="text-sm font-medium text-muted">
        {label}
        {optional ? <span className="font-normal text-faint"> · optional</span> : null}
      </label>
      {children({ id, "aria-describedby": describedBy || undefined, "aria-invalid": error ? true : undefined })}
      {hint ? (
        <p id={`${id}-hint`} className="text-sm text-faint">
          {hint}
        </p>
      ) : null}
      {error ? (
        <p id={`${id}-error`} className="text-sm text-danger">
          {error}
        </p>
      ) : null}
    </div>
  );
}
