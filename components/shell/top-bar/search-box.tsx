"use client";

import { Search } from "lucide-react";
import { usePathname, useRouter } from "next/navigation";
import { type RefObject, useEffect, useId, useRef, useState } from "react";
import { Kbd } from "@/components/ui/kbd";
import { lazily } from "@/components/ui/lazily";
import { submits } from "@/components/ui/use-submit";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { pushAddress, useEventFilter } from "@/lib/selection/filter/filter-url.browser";
import { parseSearch } from "@/lib/selection/filter/qualified-search.browser";
import { searchHref } from "@/lib/selection/filter/search.browser";

const SearchSuggestions = lazily(() => import("./search-suggestions"), "SearchSuggestions");

export type SuggestionKeys = (key: "ArrowDown" | "ArrowUp" | "Enter" | "Tab") => boolean;

const EDIT_EVENT = "parkade:edit-search";

/** Puts a text into the search box. It is a DOM event, because chips of the filter and the box share no React parent. */
export function editInSearch(text: string): void {
  document.dispatchEvent(new CustomEvent(EDIT_EVENT, { detail: text }));
}

function onSearchEdit(listener: (text: string) => void): () => void {
  const onEvent = (event: Event) => listener(String((event as CustomEvent).detail));
  document.addEventListener(EDIT_EVENT, onEvent);
  return () => document.removeEventListener(EDIT_EVENT, onEvent);
}

/**
 * The search on every page: an id opens its object, qualifiers become restrictions of the events filter, words search
 * the error texts. On the events page qualifiers and words are added to the filter; elsewhere they open that page.
 */
export function SearchBox() {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const keys = useRef<SuggestionKeys | null>(null);
  const [focused, setFocused] = useState(false);
  const [active, setActive] = useState<string | undefined>();
  const { text, notice, busy, dismissed, dismiss, change, submit } = useSearch(input);
  useHotkeys({ "/": () => input.current?.focus() });

  const open = focused && !dismissed;
  return (
    <search className="relative min-w-0 flex-1 sm:max-w-160">
      <form onSubmit={submits(submit)}>
        <Search
          size={14}
          aria-hidden
          className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-faint"
        />
        <input
          ref={input}
          data-search
          type="text"
          role="combobox"
          enterKeyHint="search"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          aria-label="Search events"
          aria-busy={busy}
          aria-expanded={open}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={open ? active : undefined}
          placeholder="Search words, paste an id, or qualify: errorCode:TIMEOUT …"
          value={text}
          onChange={(event) => change(event.target.value)}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          onKeyDown={(event) => {
            const { key } = event;
            if (key === "Escape") {
              if (open && active) dismiss();
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
          notice={notice}
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

/** What is typed, and what Enter does with it. `dismissed`: the suggestions are closed until the text changes. */
function useSearch(input: RefObject<HTMLInputElement | null>) {
  const [text, setText] = useState("");
  const [dismissed, setDismissed] = useState(false);
  const [notice, setNotice] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const { filter } = useEventFilter();
  const onEvents = usePathname() === "/events";
  const router = useRouter();

  useEffect(
    () =>
      onSearchEdit((wanted) => {
        setText(wanted);
        setDismissed(false);
        input.current?.focus();
      }),
    [input],
  );

  const change = (next: string) => {
    setText(next);
    setDismissed(false);
    setNotice(null);
  };
  // What was typed before the scripts of the page ran is in the box alone: `early-keys.browser.ts`.
  useEffect(() => {
    const box = input.current!;
    box.dataset.live = "1";
    setText((now) => box.value || now);
    // After this effect the form has the handler of this rendering.
    const sending = box.dataset.entered ? setTimeout(() => box.form?.requestSubmit()) : undefined;
    return () => clearTimeout(sending);
  }, [input]);
  const submit = async () => {
    const text = input.current?.value ?? "";
    if (text.trim() === "" || busy) return;
    const { unread } = parseSearch(text);
    // The notice appears once; a second Enter searches the text as words.
    if (unread.length > 0 && notice === null) {
      setNotice(`${unread.join("; ")}. Press Enter again to search error text for it.`);
      return;
    }
    setBusy(true);
    const href = await searchHref(text, onEvents ? (filter ?? {}) : {});
    setBusy(false);
    if (onEvents && href.startsWith("/events?")) pushAddress(href);
    else router.push(href);
    change("");
    input.current?.blur();
  };
  return { text, notice, busy, dismissed, dismiss: () => setDismissed(true), change, submit };
}
