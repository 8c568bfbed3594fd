"use client";

import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import { MenuButton } from "@/components/ui/popup-button";
import { BAR_PAGES, isPage, PAGES } from "./navigation";

export function MoreMenu({ children }: { children: ReactNode }) {
  const pathname = usePathname();
  const rest = PAGES.slice(BAR_PAGES);
  const here = rest.some((page) => isPage(pathname, page.href));
  return (
    <MenuButton
      name="More pages"
      label={children}
      variant="ghost"
      side="top"
      className={`h-13! min-w-0 flex-1 flex-col gap-0.5! px-0! text-xs ${here ? "text-ink!" : "font-normal!"}`}
      entries={rest.map((page) => ({ kind: "link", id: page.href, label: page.label, href: page.href }))}
    />
  );
}
