"use client";

import { type RefObject, useEffect, useState } from "react";
import { classNames } from "@/components/ui/class-names";
import { POPUP_CLASS } from "@/components/ui/overlay-anchor";
import { typedToken, writeTerm } from "@/lib/selection/filter/qualified-search.browser";
import {
  matching,
  NAME_SUGGESTIONS,
  type Suggestion,
  useValueSuggestions,
} from "@/lib/selection/filter/suggestions.browser";
import type { SuggestionKeys } from "./search-box";

/** Suggestions at the caret: names of qualifiers, then their known values. The focus stays in the search box. */
export function SearchSuggestions(props: {
  listId: string;
  text: string;
  /** The part of the text that was not understood; null = none. */
  notice: string | null;
  /** A handler of keys; it returns whether it used the key. */
  keys: RefObject<SuggestionKeys | null>;
  onActive: (optionId: string | undefined) => void;
  onPick: (text: string) => void;
}) {
  const { listId, text, notice, keys, onActive, onPick } = props;
  const { before, name, part } = typedToken(text);
  const values = useValueSuggestions(name);
  const offered: Suggestion[] = name === null ? matching(NAME_SUGGESTIONS, part, 10) : matching(values, part);
  const [index, setIndex] = useState(-1);
  const [seen, setSeen] = useState(text);
  if (seen !== text) {
    setSeen(text);
    setIndex(-1);
  }
  const optionId = (at: number) => `${listId}-${at}`;

  const pick = (value: string) => {
    onPick(name === null ? `${before}${value}:` : `${before}${writeTerm({ name, value })} `);
  };

  useEffect(() => {
    onActive(index >= 0 ? optionId(index) : undefined);
    keys.current = (key) => {
      if (offered.length === 0) return false;
      if (key === "ArrowDown" || key === "ArrowUp") {
        const step = key === "ArrowDown" ? 1 : -1;
        setIndex((now) => (now + step + offered.length + (now < 0 && step < 0 ? 1 : 0)) % offered.length);
        return true;
      }
      // In an empty search box Tab must still move the focus.
      const chosen = offered[index >= 0 ? index : key === "Tab" && part !== "" ? 0 : -1];
      if (!chosen) return false;
      pick(chosen.value);
      return true;
    };
    return () => {
      keys.current = null;
    };
  });

  return (
    <div className={classNames(POPUP_CLASS, "absolute inset-x-0 top-9 z-50 p-1")}>
      <div
        id={listId}
        role="listbox"
        aria-label={name === null ? "Qualifiers" : `Values of ${name}`}
        className="max-h-80 overflow-y-auto"
      >
        {offered.map((option, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the focus and the keys
          <div
            key={option.value}
            id={optionId(at)}
            role="option"
            tabIndex={-1}
            aria-selected={at === index}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => pick(option.value)}
            onMouseMove={() => setIndex(at)}
            className="flex h-7 cursor-pointer items-center gap-3 rounded-sm px-2 aria-selected:bg-hover"
          >
            <span className="max-w-4/5 shrink-0 truncate font-mono text-sm">
              {name === null ? `${option.value}:` : (option.label ?? option.value)}
            </span>
            <span className="ml-auto truncate text-sm text-faint">{option.hint}</span>
          </div>
        ))}
      </div>
      {notice === null ? null : (
        <p role="alert" className="px-2 py-1.5 text-warning wrap-anywhere">
          {notice}
        </p>
      )}
      <p className="border-t border-line px-2 pt-1.5 pb-0.5 text-sm text-faint first:border-0">
        {text.trim() === ""
          ? "Paste an id to find its event, aggregate or trace. Qualifiers narrow the list; words search error text."
          : offered.length > 0
            ? "↑ ↓ choose · Tab completes · Enter searches"
            : "Enter searches"}
      </p>
    </div>
  );
}
