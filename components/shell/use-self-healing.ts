"use client";

import { useEffect } from "react";
import { isChunkFailure, mayReload } from "@/components/ui/load-chunk";

const ASK_MS = 2_000;
/**
 * For a page whose code or data could not be fetched: polls until the server answers, then renders the page again, and
 * reloads it if the code is still missing (another version was installed). After any other failure the person decides.
 * Returns whether it waits.
 */
export function useSelfHealing(error: unknown, retry: () => void): boolean {
  const passing = isChunkFailure(error) || (error instanceof TypeError && /fetch/i.test(error.message));
  useEffect(() => {
    if (!passing) return;
    const ended = new AbortController();
    const ask = async () => {
      try {
        const response = await fetch("/api/v1/status", { signal: AbortSignal.timeout(ASK_MS) });
        if (!response.ok || ended.signal.aborted) return;
        if (isChunkFailure(error) && mayReload()) window.location.reload();
        else retry();
      } catch {
        // No answer yet; it polls again.
      }
    };
    const timer = setInterval(() => void ask(), ASK_MS);
    const now = () => void ask();
    window.addEventListener("online", now, { signal: ended.signal });
    return () => {
      ended.abort();
      clearInterval(timer);
    };
  }, [passing, error, retry]);
  return passing;
}
