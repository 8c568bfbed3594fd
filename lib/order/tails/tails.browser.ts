import type { TailOut } from "@/lib/order/tails/tails.shapes";
import { unlessUnchanged } from "@/lib/platform/browser/changes.browser";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { useChange, useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 5_000;
const pathOf = (id: string, part: "tail" | "skip") => `/api/v1/events/${encodeURIComponent(id)}/${part}`;

/** The head of the aggregate of an event, and the events that it holds. */
export const useTail = (id: string) =>
  useRead<TailOut>("events", pathOf(id, "tail"), { refetchInterval: POLL_MS, persister: unlessUnchanged });

/** Skips a head (`skip`), or lets it hold again. */
export const useSkip = () =>
  useChange("events", ({ id, skip, reason }: { id: string; skip: boolean; reason: string }) =>
    fetchJson<TailOut>(pathOf(id, "skip"), { method: skip ? "PUT" : "DELETE", body: { reason } }),
  );
