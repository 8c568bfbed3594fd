"use client";

import { RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, type ApiErrorCode } from "@/lib/platform/api/api-error.shapes";
import { type Freshness, useFreshness } from "@/lib/platform/browser/freshness.browser";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { Button } from "./button";
import { classNames } from "./class-names";
import { Shape } from "./shape";
import { TimeAgo } from "./time-ago";

/** Titles of the common errors. Every other error has the server's own sentence. */
const TITLES: Partial<Record<ApiErrorCode, string>> = {
  offline: "Parkade is not responding",
  "read-timeout": "That took too long",
  "store-unavailable": "The database cannot be reached",
  "queue-unavailable": "The queue cannot be reached",
  "invalid-filter": "This filter cannot be used",
  "too-many-requests": "Too many requests",
  "not-local": "Not allowed from here",
  forbidden: "You do not have permission",
  internal: "Server error",
};

/** Whether the band above the page already says what the error says: that Parkade does not answer. */
export function isInBand(error: unknown, level: Freshness): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.code === "offline" || (error.code === "no-answer" && level !== "fresh");
}

export const useIsInBand = (error: unknown) => isInBand(error, useFreshness());

/** The error of a failed read, above the rows that an earlier read has left (`stale`), with their age, or in their place. */
export function ReadError(props: {
  read: { isError: boolean; error: unknown; refetch: () => unknown; dataUpdatedAt: number };
  stale?: boolean;
}) {
  const { read, stale = false } = props;
  if (!read.isError) return null;
  return (
    <ErrorPanel error={read.error} onRetry={() => read.refetch()} inline={stale}>
      {stale && read.dataUpdatedAt > 0 ? (
        <p className="text-muted">
          This data was loaded <TimeAgo at={iso(read.dataUpdatedAt)} />.
        </p>
      ) : null}
    </ErrorPanel>
  );
}

/**
 * An error in the place of the data, or (`inline`) as a banner above data that is still there, unless the band above the page
 * says the same. Shows the server's public sentence and each wrong field, never a stack.
 */
export function ErrorPanel(props: {
  error: unknown;
  /** The title for an error that is not a failed read. */
  title?: string;
  onRetry?: () => void;
  inline?: boolean;
  children?: ReactNode;
}) {
  const { error, onRetry, inline, title: fallback = "This could not be loaded", children } = props;
  const api = error instanceof ApiError ? error : null;
  const inBand = useIsInBand(error);
  if (inline && onRetry && inBand) return null;
  const title = (api && TITLES[api.code]) ?? fallback;
  // The list of wrong fields already contains the sentence.
  const repeated =
    api !== null && api.fields.length > 0 && api.fields.every(({ detail }) => api.detail.includes(detail));
  return (
    <div
      role="alert"
      className={classNames(
        "flex items-start gap-2 border-line-strong border-l-danger bg-surface px-3 py-2",
        inline ? "border-y border-l-3" : "m-4 rounded-md border border-l-3",
      )}
    >
      <Shape name="triangle" className="mt-1 shrink-0 text-danger" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        {repeated ? null : (
          <p className="max-h-40 overflow-y-auto wrap-anywhere text-muted">
            {api ? api.detail : "An unexpected error occurred on this page."}
          </p>
        )}
        {api && api.fields.length > 0 ? (
          <ul className="mt-1 text-muted">
            {api.fields.map((field) => (
              <li key={field.field}>
                <code className="font-mono text-sm text-ink">{field.field}</code> {field.detail}
              </li>
            ))}
          </ul>
        ) : null}
        {children}
      </div>
      {onRetry ? (
        <Button size="sm" onClick={onRetry}>
          <RotateCw size={12} aria-hidden /> Try again
        </Button>
      ) : null}
    </div>
  );
}
