"use client";

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { freshness, onFreshness } from "./freshness.browser";
import { keys } from "./keys.browser";

const RETRIES = 2;

function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A browser often reports itself offline when it is not, and a paused query shows neither error nor age.
        networkMode: "always",
        staleTime: 5_000,
        // Polling decides when to read again; a read on every focus of the tab would move lists under the pointer.
        refetchOnWindowFocus: false,
        // Only a temporary fault is retried: a wrong filter stays wrong, and a slow read would time out again.
        retry: (failures, error) =>
          failures < RETRIES && error instanceof ApiError && error.passing && error.code !== "read-timeout",
        retryDelay: (failures, error) =>
          Math.max(500 * 2 ** failures, (error instanceof ApiError && error.retryAfterMs) || 0),
      },
      // Most writes carry no idempotency key, so the person decides about a repeat.
      mutations: { retry: false, networkMode: "always" },
    },
  });
}

/** Failed reads run again when the server answers: a read that does not poll would stay failed. */
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
