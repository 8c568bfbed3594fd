"use client";

import type { ReactNode } from "react";
import { RenderedAt } from "@/lib/browser/clock-zone";
import { QueryProvider } from "@/lib/browser/query-client";

/** What every component of the console may ask for: the server's state, and the time at which it was rendered. */
export function Providers({ renderedAtMs, children }: { renderedAtMs: number; children: ReactNode }) {
  return (
    <RenderedAt value={renderedAtMs}>
      <QueryProvider>{children}</QueryProvider>
    </RenderedAt>
  );
}
