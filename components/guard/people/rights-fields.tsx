import { useState } from "react";
import { Choice, TextField, Tick } from "@/components/ui/input";
import type { Action, Viewer } from "@/lib/guard/viewer/viewer.pure";

export type RightsDraft = {
  actions: Action[];
  /** Names with blanks or commas between them; null = every source that can be given. */
  sources: string | null;
};

/** What can be given. `actions`: those that are a choice. */
export type Givable = { actions: readonly Action[]; sources: Viewer["sources"] };

/** Names; null = every source that can be given. */
export function namedSources({ sources }: RightsDraft): string[] | null {
  return sources?.split(/[\s,]+/).filter(Boolean) ?? null;
}

/** None named must not mean every one. */
export function sourcesFault(draft: RightsDraft): string | null {
  return namedSources(draft)?.length === 0 ? "Enter a source, or choose all sources" : null;
}

/** The sources, and single actions, folded until one is given or `unfolded`. */
export function RightsFields(props: {
  draft: RightsDraft;
  set: (draft: RightsDraft) => void;
  givable: Givable;
  /** The form was pressed: what is missing is shown. */
  pressed: boolean;
  actionsHint: string;
  /** What the choice of every source gives. */
  everySource: string;
  unfolded?: boolean;
}) {
  const { draft, set, givable, pressed, actionsHint, everySource, unfolded = draft.actions.length > 0 } = props;
  const [open] = useState(unfolded);
  return (
    <>
      <Sources {...{ draft, set, givable, everySource }} fault={pressed ? sourcesFault(draft) : null} />
      {givable.actions.length === 0 ? null : (
        <details open={open}>
          <summary className="mb-1 font-medium">Additional permissions</summary>
          <p className="mb-1 text-sm text-muted">{actionsHint}</p>
          <Ticks
            values={givable.actions}
            labelOf={(action) => action.replaceAll("-", " ")}
            ticked={draft.actions}
            onTicked={(actions) => set({ ...draft, actions })}
          />
        </details>
      )}
    </>
  );
}

function Sources(
  props: Pick<Parameters<typeof RightsFields>[0], "draft" | "set" | "givable" | "everySource"> & {
    fault: string | null;
  },
) {
  const { draft, set, givable, everySource, fault } = props;
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 font-medium">Sources</legend>
      <Choice
        label="Sources"
        options={[
          { value: "every", label: everySource },
          { value: "these", label: "only these sources" },
        ]}
        value={draft.sources === null ? "every" : "these"}
        onChange={(chosen) => set({ ...draft, sources: chosen === "every" ? null : "" })}
      />
      {draft.sources === null ? null : givable.sources === "all" ? (
        <TextField
          label="Names of the sources"
          hint="Separate with spaces."
          error={fault}
          value={draft.sources}
          onValue={(sources) => set({ ...draft, sources })}
          inputClassName="font-mono"
        />
      ) : (
        <>
          <Ticks
            values={givable.sources}
            labelOf={(source) => source}
            ticked={namedSources(draft) ?? []}
            onTicked={(names) => set({ ...draft, sources: names.join(" ") })}
          />
          {fault === null ? null : (
            <p role="alert" className="text-sm text-danger">
              {fault}
            </p>
          )}
        </>
      )}
    </fieldset>
  );
}

function Ticks<Value extends string>(props: {
  values: readonly Value[];
  labelOf: (value: Value) => string;
  ticked: readonly Value[];
  onTicked: (ticked: Value[]) => void;
}) {
  const { values, labelOf, ticked, onTicked } = props;
  return (
    <div className="grid grid-cols-2 gap-x-4 gap-y-1 sm:grid-cols-3">
      {values.map((value) => (
        <Tick
          key={value}
          label={<span className="wrap-anywhere">{labelOf(value)}</span>}
          checked={ticked.includes(value)}
          onChecked={(checked) => onTicked(checked ? [...ticked, value] : ticked.filter((one) => one !== value))}
        />
      ))}
    </div>
  );
}
