"use client";

import { useEffect } from "react";
import { isChunkFailure } from "@/components/ui/load-chunk";

const ASK_MS = 2_000;
/** One reload by itself in this time: a page that breaks each time must not reload without end. */
const RELOAD_AGAIN_MS = 60_000;
const RELOADED_AT = "parkade.reloadedAtMs";

function mayReload(): boolean {
  try {
    const before = Number(window.sessionStorage.getItem(RELOADED_AT) ?? 0);
    if (Date.now() - before < RELOAD_AGAIN_MS) return false;
    window.sessionStorage.setItem(RELOADED_AT, String(Date.now()));
    return true;
  } catch {
    // Without storage nothing would bound it.
    return false;
  }
}

/**
 * For a page that broke because its code or data could not be fetched: asks until the server answers, then tries once
 * more, and if the code is still missing (another version was installed) loads the page anew. What broke for another
 * reason is left to the person. Returns whether it waits.
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
        // No answer yet: asked again.
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
