"use client";

import { Search } from "lucide-react";
import { usePathname, useRouter } from "next/navigation";
import { useEffect, useId, useRef, useState } from "react";
import { Kbd } from "@/components/ui/kbd";
import { lazily } from "@/components/ui/lazily";
import { eventsHref } from "@/lib/browser/filter-read";
import { useEventFilter } from "@/lib/browser/filter-url";
import { useHotkeys } from "@/lib/browser/hotkeys";
import { applySearch } from "@/lib/browser/qualified-search";
import { onSearchEdit } from "./search-edit";

const SearchSuggestions = lazily(() =>
  import("./search-suggestions").then(({ SearchSuggestions }) => SearchSuggestions),
);

export type SuggestionKeys = (key: "ArrowDown" | "ArrowUp" | "Enter" | "Tab") => boolean;

/**
 * Search from anywhere: qualifiers become chips of the events filter, words look in the error texts. On the events
 * page it adds to what is there; elsewhere it opens the events page.
 */
export function SearchBox() {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const keys = useRef<SuggestionKeys | null>(null);
  const [text, setText] = useState("");
  const [focused, setFocused] = useState(false);
  const [active, setActive] = useState<string | undefined>();
  const [dismissed, setDismissed] = useState(false);
  const { filter, setFilter } = useEventFilter();
  const pathname = usePathname();
  const router = useRouter();

  const change = (next: string) => {
    setText(next);
    setDismissed(false);
  };

  useEffect(
    () =>
      onSearchEdit((wanted) => {
        setText(wanted);
        setDismissed(false);
        input.current?.focus();
      }),
    [],
  );

  useHotkeys({ "/": () => input.current?.focus() });

  const submit = () => {
    if (text.trim() === "") return;
    if (pathname === "/events") setFilter(applySearch(filter ?? {}, text));
    else router.push(eventsHref(applySearch({}, text)));
    change("");
    input.current?.blur();
  };

  const open = focused && !dismissed;
  return (
    <search className="relative min-w-0 flex-1 sm:max-w-160">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Search
          size={14}
          aria-hidden
          className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
        />
        <input
          ref={input}
          type="text"
          role="combobox"
          enterKeyHint="search"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          aria-label="Search events"
          aria-expanded={open}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={open ? active : undefined}
          placeholder="Search, or qualify: errorCode:TIMEOUT aggregateId:order-77 …"
          value={text}
          onChange={(event) => change(event.target.value)}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          onKeyDown={(event) => {
            const { key } = event;
            if (key === "Escape") {
              if (open && active) setDismissed(true);
              else input.current?.blur();
            } else if (key === "ArrowDown" || key === "ArrowUp" || key === "Enter" || key === "Tab") {
              if (open && keys.current?.(key)) event.preventDefault();
            }
          }}
          className="h-8 w-full rounded-md border border-control bg-surface pr-8 pl-8 text-ink placeholder:text-ellipsis"
        />
        {focused ? null : (
          <span className="pointer-events-none absolute top-1/2 right-2 hidden -translate-y-1/2 sm:block">
            <Kbd>/</Kbd>
          </span>
        )}
      </form>
      {open ? (
        <SearchSuggestions
          listId={`${id}-list`}
          text={text}
          keys={keys}
          onActive={setActive}
          onPick={(next) => {
            change(next);
            input.current?.focus();
          }}
        />
      ) : null}
    </search>
  );
}
