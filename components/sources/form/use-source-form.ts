import { useState } from "react";
import { formOf } from "@/components/ui/draft-dialog";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useProbe } from "@/lib/sources/sources.browser";
import { bodyOf, errorsOf, type SourceDraft, type SourceErrors } from "./source-draft";

export type SourceForm = ReturnType<typeof useSourceForm>;

/** The draft of a source, with its probe. Faults show after a submit; refusals show at their fields and above the form. */
export function useSourceForm(
  initial: SourceDraft | (() => SourceDraft),
  kinds: readonly KindOut[],
  saving: { error: ApiError | null; reset: () => void },
) {
  const [draft, setDraft] = useState(initial);
  const [pressed, setPressed] = useState(false);
  const probe = useProbe();
  const kind = kinds.find((one) => one.kind === draft.kind) ?? null;
  const result = bodyOf(draft, kind ?? { fields: [] });
  const failure = saving.error ?? probe.error;
  const errors: SourceErrors = {
    ...errorsOf(failure?.fields ?? [], kind?.fields ?? []),
    ...(pressed && !result.ok ? result.errors : {}),
  };
  return {
    ...formOf(draft, setDraft, errors),
    kind,
    result,
    failure,
    pressed,
    setPressed,
    probe,
    /** Probes the draft. `of`: the stored source whose kept secrets it may use, or a kind. */
    look(of: { name: string } | { kind: string }) {
      setPressed(true);
      saving.reset();
      if (result.ok) probe.mutate({ ...of, config: result.body.config });
    },
    reset() {
      probe.reset();
      saving.reset();
    },
  };
}
