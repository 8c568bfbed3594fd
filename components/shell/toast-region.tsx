"use client";

import { useEffect } from "react";
import { Toaster } from "sonner";
import { toasterMounted } from "@/components/ui/toast";

export function ToastRegion() {
  // Runs after the effect with which the toaster subscribes.
  useEffect(toasterMounted, []);
  return (
    <Toaster
      position="bottom-right"
      // Above the strip and the bar of the selection.
      offset={{ bottom: 88, right: 16 }}
      mobileOffset={{ bottom: 92, left: 8, right: 8 }}
      gap={8}
      visibleToasts={4}
      toastOptions={{
        unstyled: true,
        classNames: {
          toast:
            "flex w-full font-sans items-center gap-2 rounded-lg border border-line-strong bg-raised px-3 py-2 text-base text-ink shadow-pop sm:w-[356px]",
          title: "font-medium",
          description: "text-muted",
          content: "min-w-0 flex-1",
          actionButton:
            "ml-auto h-6 shrink-0 rounded-md border border-line-strong px-2 text-sm font-medium text-accent hover:bg-hover",
          success: "[&_[data-icon]]:text-ok",
          error: "[&_[data-icon]]:text-danger",
        },
      }}
    />
  );
}
