"use client";

import { useId, useState } from "react";
import { CodeEditor, EditorKeys } from "@/components/repair/editor/code-editor";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { Tabs } from "@/components/ui/tabs";
import { failureToast, showToast } from "@/components/ui/toast";
import { useChangeRecipes, useRecipes } from "@/lib/repair/mends/mends.browser";
import type { SavedRecipe } from "@/lib/repair/recipes/recipes.shapes";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import { draftOf, type RecipeDraft, type RecipeFault } from "./recipe-draft";
import { StepForm } from "./step-form";

/** The forms in which a recipe is text. */
const TEXT_FORMS = [
  {
    id: "json-patch",
    label: "JSON Patch",
    field: "jsonPatch",
    name: "JSON Patch",
    hint: 'RFC 6902, such as [{"op": "move", "from": "/custId", "path": "/customerId"}]',
  },
] as const;

/** The recipe in one of its two forms, and the saved recipes. */
export function RecipeEditor(props: {
  draft: RecipeDraft;
  /** The recipe that the draft says; null = it is not whole. */
  recipe: Recipe | null;
  faults: RecipeFault[];
  places: readonly string[];
  /** The one source of the selected events; null = several. */
  source: string | null;
  onChange: (draft: RecipeDraft) => void;
}) {
  const { draft, recipe, faults, places, source, onChange } = props;
  // A loaded recipe makes the editors anew: they keep their own text.
  const [generation, setGeneration] = useState(0);
  const replace = (next: RecipeDraft) => {
    onChange(next);
    setGeneration((count) => count + 1);
  };
  const whole = faults.filter(({ step }) => step === null);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <SavedRecipes
        recipe={recipe}
        source={source}
        onLoad={(saved) => {
          replace(draftOf(saved.recipe, draft));
          void showToast({
            title: `“${saved.name}” is loaded`,
            action: { label: "Undo", onSelect: () => replace(draft) },
          });
        }}
      />
      <Tabs
        label="How the recipe is written"
        value={draft.kind}
        onChange={(kind) => onChange({ ...draft, kind: kind as RecipeDraft["kind"] })}
        tabs={[
          {
            id: "form",
            label: "Form",
            content: (
              <div className="py-2">
                <StepForm
                  steps={draft.steps}
                  faults={faults}
                  places={places}
                  onChange={(steps) => onChange({ ...draft, steps })}
                />
              </div>
            ),
          },
          ...TEXT_FORMS.map(({ id, label, ...form }) => ({
            id,
            label,
            content: <TextForm key={`${id} ${generation}`} {...form} draft={draft} onChange={onChange} />,
          })),
        ]}
      />
      {whole.length === 0 ? null : (
        <p role="alert" className="text-danger">
          {whole.map(({ detail }) => detail).join(" ")}
        </p>
      )}
    </div>
  );
}

function TextForm(
  props: Pick<(typeof TEXT_FORMS)[number], "field" | "name" | "hint"> & {
    draft: RecipeDraft;
    onChange: (draft: RecipeDraft) => void;
  },
) {
  const { field, name, hint, draft, onChange } = props;
  const keys = useId();
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1 py-2">
      <p className="text-sm text-muted">{hint}</p>
      <CodeEditor
        text={draft[field]}
        separator={"\n"}
        language="json"
        label={name}
        describedBy={keys}
        onChange={(value) => onChange({ ...draft, [field]: value })}
        className="h-48 overflow-hidden rounded-md border border-control"
      />
      <EditorKeys id={keys} />
    </div>
  );
}

function SavedRecipes(props: { recipe: Recipe | null; source: string | null; onLoad: (saved: SavedRecipe) => void }) {
  const { recipe, source, onLoad } = props;
  const { data, isError } = useRecipes();
  const { save, remove } = useChangeRecipes();
  const [chosen, setChosen] = useState("");
  const [name, setName] = useState("");
  const items = data?.items ?? [];
  const saved = items.find(({ id }) => id === chosen);
  const store = async () => {
    if (recipe === null || name.trim() === "") return;
    try {
      const stored = await save({ name: name.trim(), recipe, source });
      setChosen(stored.id);
      void showToast({ title: `Saved “${stored.name}”, version ${stored.version}`, tone: "success" });
    } catch (error) {
      failureToast("The recipe was not saved", error);
    }
  };
  const forget = async () => {
    if (!saved) return;
    try {
      await remove(saved);
      setChosen("");
      void showToast({
        title: `Deleted “${saved.name}”`,
        action: {
          label: "Undo",
          onSelect: () =>
            void save({ name: saved.name, recipe: saved.recipe, source: saved.source }).catch((error: unknown) =>
              failureToast("The recipe was not saved again", error),
            ),
        },
      });
    } catch (error) {
      failureToast("The recipe was not deleted", error);
    }
  };
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Select
        aria-label="Saved recipes"
        options={[
          {
            value: "",
            label: isError
              ? "saved recipes could not be read"
              : items.length === 0
                ? "no saved recipe"
                : "saved recipes",
          },
          ...items.map(({ id, name: label, version }) => ({ value: id, label: `${label} · version ${version}` })),
        ]}
        value={saved ? chosen : ""}
        onChange={(event) => {
          setChosen(event.target.value);
          const found = items.find(({ id }) => id === event.target.value);
          if (!found) return;
          setName(found.name);
          onLoad(found);
        }}
        className="max-w-64"
      />
      {saved ? (
        <Button needs="edit" everySource={saved.source === null} size="sm" onClick={() => void forget()}>
          Delete
        </Button>
      ) : null}
      <form
        className="flex min-w-0 items-center gap-1.5 max-sm:basis-full sm:ml-auto"
        onSubmit={(event) => {
          event.preventDefault();
          void store();
        }}
      >
        <Input
          aria-label="Name to save the recipe under"
          placeholder="name this recipe"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.target.value)}
          className="sm:w-44!"
        />
        <Button
          needs="edit"
          everySource={source === null}
          size="sm"
          type="submit"
          disabled={recipe === null || name.trim() === ""}
        >
          {items.some((item) => item.name === name.trim()) ? "Save as the next version" : "Save"}
        </Button>
      </form>
    </div>
  );
}
