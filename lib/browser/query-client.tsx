"use client";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ApiError } from "./fetch-json";

const RETRIES = 2;

function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // Polling says when to look again; a flood on every focus of the tab would move lists under the hand.
        refetchOnWindowFocus: false,
        // A wrong filter stays wrong, and a read that timed out would only time out again: only a passing fault is worth a repeat.
        retry: (failures, error) =>
          failures < RETRIES && error instanceof ApiError && error.passing && error.code !== "read-timeout",
        retryDelay: (failures) => 500 * 2 ** failures,
      },
      // Our writes carry no idempotency key of the browser's: repeating one is the person's decision.
      mutations: { retry: false },
    },
  });
}

export function QueryProvider({ children }: { children: ReactNode }) {
  const [client] = useState(makeQueryClient);
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}
