import { type ComponentProps, type ReactNode, useEffectEvent, useId, useLayoutEffect, useRef } from "react";
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

/** Gives each chosen file once, and the same one again when it is chosen again. */
export function FileInput(props: { label: string; accept?: string; onFile: (file: File) => void }) {
  const { label, accept, onFile } = props;
  return (
    <label className="text-sm text-muted">
      {label}{" "}
      <input
        type="file"
        accept={accept}
        className="max-w-64 file:mr-2 file:h-6 file:cursor-pointer file:rounded-md file:border file:border-line-strong file:bg-raised file:px-2 file:font-medium file:text-ink hover:file:bg-hover"
        onChange={(event) => {
          const file = event.target.files?.[0];
          event.target.value = "";
          if (file) onFile(file);
        }}
      />
    </label>
  );
}

/** A check box with its label, and a hint behind it. */
export function Tick(props: {
  label: ReactNode;
  hint?: ReactNode;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  className?: string;
}) {
  const { label, hint, checked, onChecked, className } = props;
  const id = useId();
  return (
    <label htmlFor={id} className={classNames("flex min-h-6 items-baseline gap-2", className)}>
      <Checkbox
        id={id}
        className="translate-y-0.5"
        checked={checked}
        onChange={(event) => onChecked(event.target.checked)}
      />
      <span>
        {label} {hint ? <span className="text-muted">{hint}</span> : null}
      </span>
    </label>
  );
}

/** A choice between few values, as radio buttons. */
export function Choice<Value extends string>(props: {
  label: string;
  options: readonly { value: Value; label: ReactNode }[];
  value: Value;
  onChange: (value: Value) => void;
  className?: string;
}) {
  const { label, options, value: chosen, onChange, className = "grid gap-1" } = props;
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className={className}>
      {options.map(({ value, label: words }) => (
        <label key={value} htmlFor={`${name}-${value}`} className="flex items-center gap-2">
          <Radio id={`${name}-${value}`} name={name} checked={value === chosen} onChange={() => onChange(value)} />
          {words}
        </label>
      ))}
    </div>
  );
}

export type FieldControl = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined };

type FieldProps = {
  label: ReactNode;
  hint?: ReactNode;
  error?: ReactNode;
  optional?: boolean;
  className?: string;
};

/** A field together with its control. `className` is that of the field; the field sets the id of the control, too. */
export type FieldWith<Control> = FieldProps &
  Omit<Control, keyof FieldProps | keyof FieldControl | "onChange"> & {
    inputClassName?: string;
    onValue: (value: string) => void;
  };

export function TextField(props: FieldWith<ComponentProps<"input">>) {
  const { label, hint, error, optional, className, inputClassName, onValue, ...input } = props;
  const box = useRef<HTMLInputElement>(null);
  const keepTyped = useEffectEvent(() => {
    const typed = box.current?.value ?? "";
    if (typed !== "" && typed !== input.value) onValue(typed);
  });
  // Text typed before the page hydrated: the next render would replace it with the empty state.
  useLayoutEffect(() => keepTyped(), []);
  return (
    <Field label={label} hint={hint} error={error} optional={optional} className={className}>
      {(control) => (
        <Input
          {...input}
          {...control}
          ref={box}
          className={inputClassName}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

export function CodeField(props: FieldWith<ComponentProps<"textarea">>) {
  const { label, hint, error, optional, className, inputClassName, onValue, ...area } = props;
  return (
    <Field {...{ label, hint, error, optional, className }}>
      {(control) => (
        <CodeTextarea
          {...area}
          {...control}
          className={inputClassName}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </Field>
  );
}

/**
 * A label with its control, its hint and its error, connected by ids. The child function renders the control and
 * spreads its argument on it.
 */
export function Field(props: FieldProps & { children: (control: FieldControl) => ReactNode }) {
  const { label, hint, error, optional, className, children } = props;
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
