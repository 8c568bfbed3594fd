"use client";

import type { ReactNode } from "react";
import { RenderedAt } from "@/lib/platform/browser/clock-zone.browser";
import { QueryProvider } from "@/lib/platform/browser/query-client.browser";

/** The react-query client and the server's render time, for every component. */
export function Providers({ renderedAtMs, children }: { renderedAtMs: number; children: ReactNode }) {
  return (
    <RenderedAt value={renderedAtMs}>
      <QueryProvider>{children}</QueryProvider>
    </RenderedAt>
  );
}
