"use client";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { ApiError } from "./fetch-json";
import { freshness, onFreshness } from "./freshness";
import { keys } from "./keys";

const RETRIES = 2;

function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A browser that calls itself offline is often wrong, and a paused query shows neither error nor age.
        networkMode: "always",
        staleTime: 5_000,
        // Polling says when to look again; a flood on every focus of the tab would move lists under the hand.
        refetchOnWindowFocus: false,
        // A wrong filter stays wrong, and a read that timed out would only time out again: only a passing fault is worth a repeat.
        retry: (failures, error) =>
          failures < RETRIES && error instanceof ApiError && error.passing && error.code !== "read-timeout",
        retryDelay: (failures, error) =>
          Math.max(500 * 2 ** failures, (error instanceof ApiError && error.retryAfterMs) || 0),
      },
      // Our writes carry no idempotency key of the browser's: repeating one is the person's decision.
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

/** What failed while nothing answered is read again as soon as something does; polls would leave single reads behind. */
function useHealing(client: QueryClient): void {
  useEffect(() => {
    let before = freshness();
    const heal = () => {
      const now = freshness();
      if (now === "fresh" && before !== "fresh") {
        void client.refetchQueries({ type: "active", predicate: (query) => query.state.error !== null });
      }
      before = now;
    };
    const askAgain = () => void client.refetchQueries({ queryKey: keys.status });
    const stop = onFreshness(heal);
    window.addEventListener("online", askAgain);
    window.addEventListener("offline", askAgain);
    return () => {
      stop();
      window.removeEventListener("online", askAgain);
      window.removeEventListener("offline", askAgain);
    };
  }, [client]);
}

export function QueryProvider({ children }: { children: ReactNode }) {
  const [client] = useState(makeQueryClient);
  useHealing(client);
  return <QueryClientProvider client={client}>{children}</QueryClientProvider>;
}
