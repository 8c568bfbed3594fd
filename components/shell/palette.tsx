"use client";

import { Command } from "cmdk";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { mendHref } from "@/components/repair/mends/mend-address";
import type { StopOrder } from "@/components/shell/stop/stop-dialog";
import { POPUP_CLASS } from "@/components/ui/overlay-anchor";
import { eventsHref, readFilter } from "@/lib/events/filter/filter-read.browser";
import { isEmptyFilter, parseSearch } from "@/lib/events/filter/qualified-search.browser";
import { searchHref } from "@/lib/events/filter/search.browser";
import { useStatus } from "@/lib/observe/health/status.browser";
import { setZone, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { randomKey } from "@/lib/platform/browser/random-key.browser";
import { setTheme } from "@/lib/platform/browser/theme.browser";
import { PAGES, pageHref } from "./navigation";
import { rankCommands } from "./palette-rank";

const ITEM =
  "flex h-8 cursor-pointer items-center gap-2 rounded-sm px-2 data-[selected=true]:bg-hover data-[disabled=true]:opacity-50";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint";

type PaletteCommand = { id: string; name: string; hint?: string; run: () => void };

/** The commands that every page has. */
function useCommands(onHelp: () => void, onStop: (order: StopOrder) => void) {
  const router = useRouter();
  const zone = useZone();
  const pages: PaletteCommand[] = PAGES.map((page) => ({
    id: page.href,
    name: page.label,
    hint: `g ${page.key}`,
    run: () => router.push(pageHref(page.href, new URLSearchParams(window.location.search))),
  }));
  const settings: PaletteCommand[] = [
    { id: "operations", name: "Bulk changes", run: () => router.push("/operations") },
    { id: "approvals", name: "Approvals", run: () => router.push("/approvals") },
    { id: "light", name: "Light theme", run: () => setTheme("light") },
    { id: "dark", name: "Dark theme", run: () => setTheme("dark") },
    { id: "system", name: "Theme as the system", run: () => setTheme("system") },
    {
      id: "zone",
      name: `Show times in ${zone === "utc" ? "local time" : "UTC"}`,
      run: () => setZone(zone === "utc" ? "local" : "utc"),
    },
    { id: "help", name: "Keyboard help", hint: "?", run: onHelp },
  ];
  const stopped = useStatus().data?.stops ?? [];
  const sends: PaletteCommand[] = [
    ...(stopped.some(({ target }) => target === null)
      ? []
      : [{ id: "stop", name: "Stop all sends…", run: () => onStop({ stop: true, target: null }) }]),
    ...stopped.map(({ target }) => ({
      id: `resume ${target ?? ""}`,
      name: target === null ? "Resume all sends…" : `Resume the sends to ${target}…`,
      run: () => onStop({ stop: false, target }),
    })),
  ];
  return { pages, sends, settings };
}

/** Pages, searches, ids and settings of this browser, by name. The best match comes first. */
export function Palette(props: { onClose: () => void; onHelp: () => void; onStop: (order: StopOrder) => void }) {
  const { onClose, onHelp, onStop } = props;
  const router = useRouter();
  const [text, setText] = useState("");
  const typed = text.trim();
  const { terms } = parseSearch(typed);
  const { pages, sends, settings } = useCommands(onHelp, onStop);
  const here = actionsHere((href) => router.push(href));
  const finds: PaletteCommand[] = typed === "" ? [] : findsOf(typed, terms.length > 0, (href) => router.push(href));
  const { before, behind } = rankCommands([...pages, ...sends, ...settings], typed);
  const group = (heading: string, commands: PaletteCommand[]) =>
    commands.length === 0 ? null : (
      <Command.Group heading={heading} className={GROUP}>
        {commands.map((command) => (
          <Command.Item
            key={command.id}
            value={command.id}
            className={ITEM}
            onSelect={() => {
              onClose();
              command.run();
            }}
          >
            <span className="truncate">{command.name}</span>
            {command.hint ? <span className="ml-auto font-mono text-sm text-faint">{command.hint}</span> : null}
          </Command.Item>
        ))}
      </Command.Group>
    );
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => (open ? undefined : onClose())}
      label="Commands"
      loop
      // Ranked here: the library's own order would put a search before a page.
      shouldFilter={false}
      // Ctrl K closes the palette; with the library's vim bindings it would move the selection.
      vimBindings={false}
      overlayClassName="fixed inset-0 z-40 bg-[rgb(10_11_14/0.45)]"
      contentClassName={`${POPUP_CLASS} fixed top-[12dvh] left-1/2 z-50 w-[min(560px,94vw)] -translate-x-1/2 overflow-hidden`}
    >
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder="Go to a page, search, or paste an id"
        className="h-11 w-full border-b border-line bg-transparent px-3 text-lg outline-none"
      />
      <Command.List className="max-h-[min(420px,60dvh)] overflow-y-auto p-1">
        {typed === "" ? (
          <>
            {group("Here", here)}
            {group("Go to", pages)}
            {group("Sends", sends)}
            {group("This browser", settings)}
          </>
        ) : (
          <>
            {group("Commands", before)}
            {group("Find", finds)}
            {group("Also", behind)}
          </>
        )}
      </Command.List>
    </Command.Dialog>
  );
}

/** What can be done on the open page. */
function actionsHere(go: (href: string) => void): PaletteCommand[] {
  const { pathname, search } = window.location;
  const [, noun, id] = pathname.split("/");
  if (noun !== "events") return [];
  if (id !== undefined) {
    return [
      { id: "edit", name: "Edit this event", hint: "e", run: () => go(withParam("edit", "1")) },
      { id: "revisions", name: "Revisions of this event", run: () => go(withParam("tab", "revisions")) },
    ];
  }
  const { filter } = readFilter(new URLSearchParams(search));
  if (filter === null || isEmptyFilter(filter)) return [];
  return [
    { id: "mend", name: "Mend all events of this filter", hint: "m", run: () => go(mendHref({ filter }, randomKey)) },
  ];
}

function withParam(name: string, value: string): string {
  const params = new URLSearchParams(window.location.search);
  params.set(name, value);
  return `${window.location.pathname}?${params}`;
}

/** The possible searches for the text. */
function findsOf(typed: string, qualified: boolean, go: (href: string) => void): PaletteCommand[] {
  const finds: PaletteCommand[] = [
    {
      id: "find",
      name: `Search events for ${typed}`,
      run: () => void searchHref(typed, {}).then(go),
    },
  ];
  if (!qualified && !/\s/.test(typed)) {
    finds.push(
      { id: "aggregate", name: `Events of aggregate ${typed}`, run: () => go(eventsHref({ aggregateId: [typed] })) },
      { id: "event", name: `Event with the producer's id ${typed}`, run: () => go(eventsHref({ eventId: [typed] })) },
    );
  }
  return finds;
}
