"use client";

import { useEffect, useSyncExternalStore } from "react";
import { lazily } from "@/components/ui/lazily";
import { startLoadingAfterPaint } from "@/components/ui/load-chunk";
import { onToasterWanted, toasterWanted } from "@/components/ui/toast";

const ToastRegion = lazily(() => import("./toast-region"), "ToastRegion");

/** Renders toasts, and starts loading the code of dialogs and panels after the first page is painted. */
export function LazyToaster() {
  useEffect(startLoadingAfterPaint, []);
  const wanted = useSyncExternalStore(onToasterWanted, toasterWanted, () => false);
  return wanted ? <ToastRegion /> : null;
}
