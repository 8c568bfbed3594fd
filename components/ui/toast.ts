import type { ReactNode } from "react";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { loadAtTouch, loadChunk } from "./load-chunk";

/**
 * Toasts, by sonner, whose code is fetched after the page is painted. A toast confirms or offers Undo; an error that
 * must be read belongs in an `ErrorPanel`.
 */
export type Toast = {
  /** A later toast with the same id replaces the earlier toast. */
  id?: string;
  title: string;
  detail?: ReactNode;
  tone?: "neutral" | "success" | "error";
  /** A button in the toast: Undo, View. */
  action?: { label: string; onSelect: () => void };
  /** The duration, ms; a toast with an action stays 10 s, so that there is time for Undo. */
  durationMs?: number;
};

const loadSonner = () => import("sonner");
loadAtTouch(loadSonner);

let wanted = false;
const listeners = new Set<() => void>();

/** Whether any toast was shown: the frame then mounts sonner's region. */
export function toasterWanted(): boolean {
  return wanted;
}

export function onToasterWanted(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const region = Promise.withResolvers<void>();

/** To be called by sonner's region once it is mounted. */
export const toasterMounted = () => region.resolve();

/** Waits for the region: sonner loses a toast that is shown before. */
export async function showToast({ id, title, detail, tone = "neutral", action, durationMs }: Toast): Promise<void> {
  if (!wanted) {
    wanted = true;
    for (const listener of listeners) listener();
  }
  const [{ toast }] = await Promise.all([loadChunk(loadSonner), region.promise]);
  const show = tone === "success" ? toast.success : tone === "error" ? toast.error : toast;
  show(title, {
    id,
    description: detail,
    duration: durationMs ?? (action ? 10_000 : 5_000),
    action: action ? { label: action.label, onClick: action.onSelect } : undefined,
  });
}

/** Shows that an action without a dialog failed: its title, and the server's sentence. */
export function failureToast(title: string, error: unknown): void {
  const detail = error instanceof ApiError ? error.detail : undefined;
  void showToast({ title, detail, tone: "error", durationMs: 10_000 });
}
