"use client";

import type { ReactNode } from "react";
import { RenderedAt } from "@/lib/browser/clock-zone";
import { QueryProvider } from "@/lib/browser/query-client";

/** The react-query client and the server's render time, for every component. */
export function Providers({ renderedAtMs, children }: { renderedAtMs: number; children: ReactNode }) {
  return (
    <RenderedAt value={renderedAtMs}>
      <QueryProvider>{children}</QueryProvider>
    </RenderedAt>
  );
}
