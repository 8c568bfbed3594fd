"use client";

import { CSPProvider } from "@base-ui/react/csp-provider";
import type { ReactNode } from "react";
import { RenderedAt } from "@/lib/platform/browser/clock-zone.browser";
import { QueryProvider } from "@/lib/platform/browser/query-client.browser";

type ProvidersProps = { renderedAtMs: number; nonce: string | undefined; children: ReactNode };

/** The react-query client, the server's render time, and the nonce of style elements, for every component. */
export function Providers({ renderedAtMs, nonce, children }: ProvidersProps) {
  return (
    <CSPProvider nonce={nonce}>
      <RenderedAt value={renderedAtMs}>
        <QueryProvider>{children}</QueryProvider>
      </RenderedAt>
    </CSPProvider>
  );
}
