"use client";

import "./globals.css";
import { useEffect } from "react";
import { useSelfHealing } from "@/components/shell/use-self-healing";

/** Shown in place of the whole document when the frame around the pages fails. It reloads by itself. */
export default function GlobalError({ error, retry }: { error: unknown; retry: () => void }) {
  useEffect(() => {
    console.error(error);
  }, [error]);
  const waiting = useSelfHealing(error, retry);
  return (
    <html lang="en">
      <body>
        <main className="mx-auto flex max-w-120 flex-col gap-3 px-4 py-16">
          <h1 className="text-lg font-semibold">
            {waiting ? "Parkade is not responding" : "The console could not be shown"}
          </h1>
          <p>
            {waiting
              ? "A part of the console could not be fetched. It is retried automatically."
              : "An unexpected error occurred on this page."}{" "}
            Running redrives are not affected.
          </p>
          <p>
            <button
              type="button"
              className="h-7 rounded-md border border-line-strong bg-raised px-2.5 font-medium"
              onClick={() => window.location.reload()}
            >
              Reload
            </button>
          </p>
        </main>
      </body>
    </html>
  );
}
