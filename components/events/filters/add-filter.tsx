"use client";

import { useState } from "react";
import { Button } from "@/components/ui/button";
import { Checkbox, Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { type Term, termsOf } from "@/lib/selection/filter/qualified-search.browser";
import { matching, NAME_SUGGESTIONS, useValueSuggestions } from "@/lib/selection/filter/suggestions.browser";

const NAMES = [...NAME_SUGGESTIONS.map(({ value }) => value), "tag", "q"];
const LABELS: Record<string, string> = { tag: "tag…", q: "words in the error" };
/** Their values are chosen from a list. */
const CLOSED = new Set(["status", "admission"]);

/** Adds one restriction: the person chooses a name, then known values or a typed value. */
export function AddFilter(props: {
  filter: EventFilter;
  onAdd: (term: Term) => void;
  onRemove: (term: Term) => void;
  onDone: () => void;
}) {
  const { filter, onAdd, onRemove, onDone } = props;
  const [name, setName] = useState("errorCode");
  const [key, setKey] = useState("");
  const [text, setText] = useState("");
  const suggestions = useValueSuggestions(name);
  const chosen = new Set(termsOf(filter).flatMap((term) => (term.name === name ? [term.value] : [])));
  const offered = matching(suggestions, text, 50);
  const termName = name === "tag" ? `tag.${key.trim()}` : name;
  const ready = text.trim() !== "" && (name !== "tag" || key.trim() !== "");
  return (
    <div className="flex w-80 flex-col">
      <form
        className="flex flex-col gap-2 p-3"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          onAdd({ name: termName, value: text.trim() });
          onDone();
        }}
      >
        <Select
          aria-label="Filter by"
          value={name}
          onChange={(event) => {
            setName(event.target.value);
            setText("");
          }}
          options={NAMES.map((value) => ({ value, label: LABELS[value] ?? value }))}
        />
        {name === "tag" ? (
          <Input
            aria-label="Tag"
            placeholder="tag, such as orderId"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        ) : null}
        {CLOSED.has(name) ? null : (
          <div className="flex gap-2">
            <Input
              aria-label="Value"
              placeholder={offered.length > 0 ? "choose below, or type" : "value"}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <Button type="submit" disabled={!ready}>
              Add
            </Button>
          </div>
        )}
      </form>
      {offered.length > 0 ? (
        <ul aria-label={`Values of ${name}`} className="max-h-72 overflow-y-auto border-t border-line p-1">
          {offered.map((option) => (
            <li key={option.value}>
              {/* biome-ignore lint/a11y/noLabelWithoutControl: Checkbox is an input */}
              <label className="flex h-7 items-center gap-2 rounded-sm px-2 hover:bg-hover">
                <Checkbox
                  checked={chosen.has(option.value)}
                  onChange={(event) => (event.target.checked ? onAdd : onRemove)({ name, value: option.value })}
                />
                <span className="truncate font-mono text-sm">{option.label ?? option.value}</span>
                <span className="ml-auto truncate pl-3 text-sm text-faint">{option.hint}</span>
              </label>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
