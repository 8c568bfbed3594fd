"use client";

import { useSyncExternalStore } from "react";
import { lazily } from "@/components/ui/lazily";
import { onToasterWanted, toasterWanted } from "@/components/ui/toast";

const ToastRegion = lazily(() => import("./toast-region").then(({ ToastRegion }) => ToastRegion));

/** The place of toasts; nothing of it is loaded before the first one. */
export function LazyToaster() {
  const wanted = useSyncExternalStore(onToasterWanted, toasterWanted, () => false);
  return wanted ? <ToastRegion /> : null;
}
