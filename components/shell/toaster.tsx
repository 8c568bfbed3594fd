"use client";

import { useEffect, useSyncExternalStore } from "react";
import { lazily } from "@/components/ui/lazily";
import { startLoadingAfterPaint } from "@/components/ui/load-chunk";
import { onToasterWanted, toasterWanted } from "@/components/ui/toast";

const ToastRegion = lazily(() => import("./toast-region").then(({ ToastRegion }) => ToastRegion));

/** The place of toasts, and of every page: what opens on demand is fetched once the page is on the screen. */
export function LazyToaster() {
  useEffect(startLoadingAfterPaint, []);
  const wanted = useSyncExternalStore(onToasterWanted, toasterWanted, () => false);
  return wanted ? <ToastRegion /> : null;
}
