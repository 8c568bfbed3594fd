"use client";

import { useRouter } from "next/navigation";
import { useState } from "react";
import type { StopOrder } from "@/components/shell/stop/stop-dialog";
import { lazily } from "@/components/ui/lazily";
import { type Hotkeys, useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { PAGES, pageHref } from "./navigation";

const Palette = lazily(() => import("./palette"), "Palette");
const StopDialog = lazily(() => import("@/components/shell/stop/stop-dialog"), "StopDialog");
const KeyboardHelp = lazily(() => import("./keyboard-help"), "KeyboardHelp");

/** The keys that work on every page, and the two overlays that they open. */
export function GlobalKeys() {
  const router = useRouter();
  const [open, setOpen] = useState<"palette" | "help" | StopOrder | null>(null);
  const hotkeys: Hotkeys = {
    "mod+k": () => setOpen((now) => (now === "palette" ? null : "palette")),
    "?": () => setOpen("help"),
  };
  for (const page of PAGES)
    hotkeys[`g ${page.key}`] = () => router.push(pageHref(page.href, new URLSearchParams(window.location.search)));
  useHotkeys(hotkeys);
  const close = () => setOpen(null);
  if (open === "palette") return <Palette onClose={close} onHelp={() => setOpen("help")} onStop={setOpen} />;
  if (open === "help") return <KeyboardHelp onClose={close} />;
  if (open !== null) return <StopDialog order={open} onClose={close} />;
  return null;
}
