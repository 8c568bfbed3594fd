"use client";

import { useEffect, useSyncExternalStore } from "react";
import { lazily } from "@/components/ui/lazily";
import { loadWhenTouched } from "@/components/ui/load-chunk";
import { onToasterWanted, toasterWanted } from "@/components/ui/toast";

const ToastRegion = lazily(() => import("./toast-region"), "ToastRegion");

/** Renders toasts, and loads the code of dialogs and panels once the page is touched. */
export function LazyToaster() {
  useEffect(loadWhenTouched, []);
  const wanted = useSyncExternalStore(onToasterWanted, toasterWanted, () => false);
  return wanted ? <ToastRegion /> : null;
}
