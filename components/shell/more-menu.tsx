"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/popup-button";
import { BAR_PAGES, PAGE_GROUPS, PAGES, pageAt } from "./navigation";

const BAR: string[] = PAGES.slice(0, BAR_PAGES).map(({ href }) => href);

/** The pages that the bottom bar has no room for, with those of the second level. */
const ENTRIES: MenuEntry[] = PAGE_GROUPS.flatMap(([group, pages]) => {
  const rest = pages.filter(({ href }) => !BAR.includes(href));
  if (rest.length === 0) return [];
  const links = rest.flatMap((page) => page.tabs ?? [page]);
  return [
    { kind: "heading" as const, id: group, label: group },
    ...links.map(({ href, label }) => ({ kind: "link" as const, id: href, label, href })),
  ];
});

export function MoreMenu({ children }: { children: ReactNode }) {
  const page = pageAt(usePathname())?.page.href;
  const here = page !== undefined && !BAR.includes(page);
  return (
    <MenuButton
      name="More pages"
      label={children}
      variant="ghost"
      side="top"
      className={`h-13! min-w-0 flex-1 flex-col gap-0.5! px-0! text-xs ${here ? "text-ink!" : "font-normal!"}`}
      entries={ENTRIES}
    />
  );
}
