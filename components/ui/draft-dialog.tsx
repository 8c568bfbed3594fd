"use client";

import { type ComponentProps, type ReactNode, useState } from "react";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { FieldError } from "@/lib/platform/plain/problem.pure";
import { ReasonDialog } from "./reason-dialog";
import type { Toast } from "./toast";

/** Texts by the name of their field. */
type Errors = Partial<Record<string, string>>;

/** What a draft asks the server for, or what it lacks. */
export type Asked<Request> = { ok: true; request: Request } | { ok: false; errors: Errors };

type NameOf<Draft, Value> = { [Name in keyof Draft]: Draft[Name] extends Value ? Name : never }[keyof Draft] & string;

/** A draft as its controls show and change it: `{...form.text("name")}` is the value, the error and the change of one field. */
export type Form<Draft> = ReturnType<typeof formOf<Draft>>;

export function formOf<Draft>(draft: Draft, setDraft: (draft: Draft) => void, errors: Errors = {}) {
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  return {
    draft,
    errors,
    set,
    text: <Name extends NameOf<Draft, string>>(name: Name) => ({
      value: draft[name] as Draft[Name] & string,
      error: errors[name],
      onValue: (value: string) => set({ [name]: value } as Partial<Draft>),
    }),
    tick: (name: NameOf<Draft, boolean>) => ({
      checked: draft[name] === true,
      onChecked: (on: boolean) => set({ [name]: on } as Partial<Draft>),
    }),
  };
}

type ReasonProps = Omit<ComponentProps<typeof ReasonDialog>, "ready" | "onSubmit" | "children" | "title">;

/**
 * A dialog that makes or changes a thing. What the draft lacks is shown at its fields after the first press, and what the server
 * refuses after its answer; both stay until the next press.
 */
export function DraftDialog<Draft, Request>({
  initial,
  request,
  errorsOf = () => ({}),
  early = () => ({}),
  by = () => ({}),
  save,
  children,
  ...dialog
}: ReasonProps & {
  title: ReactNode;
  initial: () => Draft;
  request: (draft: Draft, reason: string) => Asked<Request>;
  errorsOf?: (fields: readonly FieldError[]) => Errors;
  /** Those of the errors that are shown before the first press. */
  early?: (errors: Errors) => Errors;
  /** What of the dialog depends on the draft. */
  by?: (draft: Draft) => Partial<ReasonProps & { title: ReactNode }>;
  /** Its answer is the title of the toast, or the toast; null = nothing was to be changed. */
  save: (request: Request, reason: string) => Promise<string | Toast | null>;
  children: (form: Form<Draft>) => ReactNode;
}) {
  const [draft, setDraft] = useState(initial);
  const [refused, setRefused] = useState<Errors>({});
  return (
    <ReasonDialog
      {...dialog}
      {...by(draft)}
      onSubmit={async (reason) => {
        const asked = request(draft, reason);
        if (!asked.ok) return "stay";
        setRefused({});
        try {
          const done = await save(asked.request, reason);
          return typeof done === "string" ? { title: done, tone: "success" } : (done ?? undefined);
        } catch (error) {
          if (error instanceof ApiError) setRefused(errorsOf(error.fields));
          throw error;
        }
      }}
    >
      {(pressed) => {
        const asked = request(draft, "");
        const lacks = asked.ok ? {} : pressed ? asked.errors : early(asked.errors);
        return children(formOf(draft, setDraft, { ...refused, ...lacks }));
      }}
    </ReasonDialog>
  );
}
