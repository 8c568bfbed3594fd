"use client";

import { Dialog as Base } from "@base-ui/react/dialog";
import { useQueryClient } from "@tanstack/react-query";
import { Command } from "cmdk";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { redriveTitle } from "@/components/redrive/redrive-title";
import type { StopOrder } from "@/components/shell/stop/stop-dialog";
import { POPUP_CLASS } from "@/components/ui/overlay-anchor";
import { failureToast, showToast } from "@/components/ui/toast";
import { useSavedViews } from "@/lib/events/views/views.browser";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import { useStatus } from "@/lib/observe/health/status.browser";
import { setZone, useZone } from "@/lib/platform/browser/clock-zone.browser";
import { useStaleReason } from "@/lib/platform/browser/freshness.browser";
import { setTheme } from "@/lib/platform/browser/theme.browser";
import { changeRedrive, useRunningRedrives } from "@/lib/redrive/redrives.browser";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { parseSearch } from "@/lib/selection/filter/qualified-search.browser";
import { searchHref } from "@/lib/selection/filter/search.browser";
import { nextRedriveState } from "@/lib/states/redrive-state.pure";
import { PAGES, pageHref } from "./navigation";
import { rankCommands } from "./palette-rank";

const ITEM =
  "flex h-8 cursor-pointer items-center gap-2 rounded-sm px-2 data-[selected=true]:bg-hover data-[disabled=true]:opacity-50";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint";

type PaletteCommand = {
  id: string;
  name: string;
  words?: string;
  hint?: string;
  /** Why it cannot be run now. */
  refusal?: string;
  run: () => void;
};

function useCommands(onHelp: () => void, onStop: (order: StopOrder) => void) {
  const router = useRouter();
  const zone = useZone();
  const pages: PaletteCommand[] = PAGES.flatMap((page) =>
    (page.tabs ?? [page]).map(({ href, label, words }) => ({
      id: href,
      name: label === page.label ? label : `${page.label}: ${label}`,
      ...(words === undefined ? {} : { words }),
      ...(href === page.href ? { hint: `g ${page.key}` } : {}),
      run: () => router.push(pageHref(href, new URLSearchParams(window.location.search))),
    })),
  );
  const views: PaletteCommand[] = (useSavedViews().data?.items ?? []).map(({ id, name, filter }) => ({
    id,
    name: `View: ${name}`,
    run: () => router.push(eventsHref(filter)),
  }));
  const settings: PaletteCommand[] = [
    { id: "light", name: "Light theme", run: () => setTheme("light") },
    { id: "dark", name: "Dark theme", run: () => setTheme("dark") },
    { id: "system", name: "System theme", run: () => setTheme("system") },
    {
      id: "zone",
      name: `Show times in ${zone === "utc" ? "browser time" : "UTC"}`,
      words: "time zone",
      run: () => setZone(zone === "utc" ? "local" : "utc"),
    },
    { id: "docs", name: "Documentation", words: "help runbooks", run: () => router.push("/docs/on-call") },
    { id: "glossary", name: "Glossary", run: () => router.push("/glossary") },
    { id: "help", name: "Keyboard help", hint: "?", run: onHelp },
  ];
  const stopped = useStatus().data?.stops ?? [];
  const sends: PaletteCommand[] = [
    ...useRunning((id) => router.push(`/redrives/${id}`)),
    ...(stopped.some(({ target }) => target === null)
      ? []
      : [{ id: "stop", name: "Stop all sends…", run: () => onStop({ stop: true, target: null }) }]),
    ...stopped.map(({ target }) => ({
      id: `resume ${target ?? ""}`,
      name: target === null ? "Resume all sends…" : `Resume sends to ${target}…`,
      run: () => onStop({ stop: false, target }),
    })),
  ];
  return { pages, views, sends, settings };
}

/** Each redrive that has not ended: its page, and its pause or resume. */
function useRunning(open: (id: string) => void): PaletteCommand[] {
  const client = useQueryClient();
  const missing = useRefusal("redrive");
  const stale = useStaleReason();
  return (useRunningRedrives().data?.items ?? []).flatMap((redrive) => {
    const title = redriveTitle(redrive);
    const move = (["pause", "resume"] as const).find((each) => nextRedriveState(redrive.state, each) !== null);
    const refusal = missing ?? (move === "resume" ? stale : null);
    const change = (action: "pause" | "resume") =>
      changeRedrive(client, redrive.id, { action })
        .then(() => showToast({ title: action === "pause" ? "Redrive paused" : "Redrive resumed", detail: title }))
        .catch((error: unknown) => failureToast("Request failed", error));
    return [
      { id: redrive.id, name: `Open redrive: ${title}`, run: () => open(redrive.id) },
      ...(move === undefined
        ? []
        : [
            {
              id: `${move} ${redrive.id}`,
              name: `${move === "pause" ? "Pause" : "Resume"} redrive: ${title}`,
              ...(refusal === null ? {} : { refusal }),
              run: () => void change(move),
            },
          ]),
    ];
  });
}

/** Actions, pages, searches, ids and settings of this browser, by name. The best match comes first. */
export function Palette(props: { onClose: () => void; onHelp: () => void; onStop: (order: StopOrder) => void }) {
  const { onClose, onHelp, onStop } = props;
  const router = useRouter();
  const [text, setText] = useState("");
  const typed = text.trim();
  const { terms } = parseSearch(typed);
  const { pages, views, sends, settings } = useCommands(onHelp, onStop);
  const [here] = useState(actionsHere);
  const finds: PaletteCommand[] = typed === "" ? [] : findsOf(typed, terms.length > 0, (href) => router.push(href));
  const { before, behind } = rankCommands([...here, ...pages, ...views, ...sends, ...settings], typed);
  const group = (heading: string, commands: PaletteCommand[]) =>
    commands.length === 0 ? null : (
      <Command.Group heading={heading} className={GROUP}>
        {commands.map((command) => (
          <Command.Item
            key={command.id}
            value={command.id}
            className={ITEM}
            disabled={command.refusal !== undefined}
            onSelect={() => {
              onClose();
              command.run();
            }}
          >
            <span className="truncate">{command.name}</span>
            {command.refusal ? <span className="ml-auto truncate pl-4 text-sm">{command.refusal}</span> : null}
            {command.hint ? <span className="ml-auto font-mono text-sm text-faint">{command.hint}</span> : null}
          </Command.Item>
        ))}
      </Command.Group>
    );
  return (
    <Base.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_11_14/0.45)]" />
        <Base.Popup
          aria-label="Commands"
          className={`${POPUP_CLASS} fixed top-[12dvh] left-1/2 z-50 w-[min(560px,94vw)] -translate-x-1/2 overflow-hidden`}
        >
          <Command
            label="Commands"
            loop
            // Ranked here: the library's own order would put a search before a page.
            shouldFilter={false}
            // Ctrl K closes the palette; with the library's vim bindings it would move the selection.
            vimBindings={false}
          >
            <Command.Input
              value={text}
              onValueChange={setText}
              placeholder="Run a command, go to a page, search, or paste an id"
              className="h-11 w-full border-b border-line bg-transparent px-3 text-lg outline-none"
            />
            <Command.List className="max-h-[min(420px,60dvh)] overflow-y-auto p-1">
              {typed === "" ? (
                <>
                  {group("On this page", here)}
                  {group("Go to", pages)}
                  {group("Saved views", views)}
                  {group("Sends", sends)}
                  {group("Help and settings", settings)}
                </>
              ) : (
                <>
                  {group("Commands", before)}
                  {group("Search", finds)}
                  {group("More commands", behind)}
                </>
              )}
            </Command.List>
          </Command>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The buttons of the open page that name a command. A command presses its button, so permissions, reasons and dialogs are those of the page. */
function actionsHere(): PaletteCommand[] {
  const buttons = document.querySelectorAll<HTMLElement>("[data-command]");
  return [...buttons].map((button, index) => ({
    id: `here ${index}`,
    name: button.dataset.command!,
    ...(button.matches(":disabled, [aria-disabled=true]") ? { refusal: button.dataset.tip ?? "Not now" } : {}),
    run: () => button.click(),
  }));
}

/** The possible searches for the text. */
function findsOf(typed: string, qualified: boolean, go: (href: string) => void): PaletteCommand[] {
  const finds: PaletteCommand[] = [
    {
      id: "find",
      name: /\s/.test(typed) || qualified ? `Search events for ${typed}` : `Go to event ${typed}, or search for it`,
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
