"use client";

import dynamic from "next/dynamic";
import { useSyncExternalStore } from "react";
import { onToasterWanted, toasterWanted } from "@/components/ui/toast";

const ToastRegion = dynamic(() => import("./toast-region").then((module) => module.ToastRegion), { ssr: false });

/** The place of toasts; nothing of it is loaded before the first one. */
export function LazyToaster() {
  const wanted = useSyncExternalStore(onToasterWanted, toasterWanted, () => false);
  return wanted ? <ToastRegion /> : null;
}
