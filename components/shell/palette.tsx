"use client";

import { Command } from "cmdk";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { POPUP_CLASS } from "@/components/ui/overlay-anchor";
import { setZone, useZone } from "@/lib/browser/clock-zone";
import { eventsHref } from "@/lib/browser/filter-read";
import { parseSearch } from "@/lib/browser/qualified-search";
import { searchHref } from "@/lib/browser/search";
import { setTheme } from "@/lib/browser/theme";
import { PAGES } from "./navigation";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const ITEM =
  "flex h-8 cursor-pointer items-center gap-2 rounded-sm px-2 data-[selected=true]:bg-hover data-[disabled=true]:opacity-50";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-faint";

/** Everything by name: pages, a search, an id that was pasted, settings of this browser. */
export function Palette({ onClose, onHelp }: { onClose: () => void; onHelp: () => void }) {
  const router = useRouter();
  const zone = useZone();
  const [text, setText] = useState("");
  const typed = text.trim();
  const { terms } = parseSearch(typed);
  const run = (action: () => void) => () => {
    onClose();
    action();
  };
  return (
    <Command.Dialog
      open
      onOpenChange={(open) => (open ? undefined : onClose())}
      label="Commands"
      loop
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
        {typed === "" ? null : (
          <Command.Group heading="Find" className={GROUP} forceMount>
            {UUID.test(typed) ? (
              <Command.Item
                forceMount
                value={`open ${typed}`}
                className={ITEM}
                onSelect={run(() => router.push(`/events/${typed}`))}
              >
                Open event <span className="truncate font-mono text-sm">{typed}</span>
              </Command.Item>
            ) : null}
            <Command.Item
              forceMount
              value={`search ${typed}`}
              className={ITEM}
              onSelect={run(() => void searchHref(typed, {}).then((href) => router.push(href)))}
            >
              Search events for <span className="truncate font-mono text-sm">{typed}</span>
            </Command.Item>
            {terms.length === 0 && !/\s/.test(typed) ? (
              <>
                <Command.Item
                  forceMount
                  value={`aggregate ${typed}`}
                  className={ITEM}
                  onSelect={run(() => router.push(eventsHref({ aggregateId: [typed] })))}
                >
                  Events of aggregate <span className="truncate font-mono text-sm">{typed}</span>
                </Command.Item>
                <Command.Item
                  forceMount
                  value={`event ${typed}`}
                  className={ITEM}
                  onSelect={run(() => router.push(eventsHref({ eventId: [typed] })))}
                >
                  Event with the producer's id <span className="truncate font-mono text-sm">{typed}</span>
                </Command.Item>
              </>
            ) : null}
          </Command.Group>
        )}
        <Command.Group heading="Go to" className={GROUP}>
          {PAGES.map((page) => (
            <Command.Item
              key={page.href}
              value={page.label}
              className={ITEM}
              onSelect={run(() => router.push(page.href))}
            >
              {page.label}
              <span className="ml-auto font-mono text-sm text-faint">g {page.key}</span>
            </Command.Item>
          ))}
        </Command.Group>
        <Command.Group heading="This browser" className={GROUP}>
          <Command.Item value="theme light" className={ITEM} onSelect={run(() => setTheme("light"))}>
            Light theme
          </Command.Item>
          <Command.Item value="theme dark" className={ITEM} onSelect={run(() => setTheme("dark"))}>
            Dark theme
          </Command.Item>
          <Command.Item value="theme system" className={ITEM} onSelect={run(() => setTheme("system"))}>
            Theme as the system
          </Command.Item>
          <Command.Item
            value="times zone utc local"
            className={ITEM}
            onSelect={run(() => setZone(zone === "utc" ? "local" : "utc"))}
          >
            Show times in {zone === "utc" ? "local time" : "UTC"}
          </Command.Item>
          <Command.Item value="keyboard help shortcuts" className={ITEM} onSelect={run(onHelp)}>
            Keyboard help <span className="ml-auto font-mono text-sm text-faint">?</span>
          </Command.Item>
        </Command.Group>
      </Command.List>
    </Command.Dialog>
  );
}
