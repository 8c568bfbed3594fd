"use client";

import Link from "next/link";
import { ControlUntil } from "@/components/order/controls/control-badge";
import { plural } from "@/lib/platform/plain/format.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { sampleView, targetProblems } from "./sample-words";

/** The checked and the unchecked parts of the selection, and the states of its targets. */
export function SampleLines({ preview }: { preview: Pick<PreviewOut, "sample" | "total" | "eligible"> }) {
  const found = preview.sample !== null && preview.sample.checked > 0;
  if (preview.total === 0 || (preview.eligible === 0 && !found)) return null;
  const view = sampleView(preview);
  return (
    <>
      <p>
        <span className={view.bad ? "text-warning" : undefined}>{view.found}</span>{" "}
        {view.causes.map(({ id, label }) => (
          <Link key={id} href={`/events/${id}`} prefetch={false} className="mr-2 text-accent underline">
            View {label}
          </Link>
        ))}
        <span className="text-muted">{view.unchecked}</span>
      </p>
      {(preview.sample?.warnings ?? []).map(({ check, detail, events }) => (
        <p key={`${check} ${detail}`} className="wrap-anywhere text-warning">
          {plural(events, "event")}: {detail}.
        </p>
      ))}
      {targetProblems(preview.sample?.targets ?? []).map((trouble) => (
        <p key={trouble.name} className="wrap-anywhere text-warning">
          <span className="font-mono text-sm">{trouble.name}</span>: {trouble.text}
          {trouble.until ? (
            <>
              {" "}
              <ControlUntil expiresAt={trouble.until} />
            </>
          ) : null}{" "}
          <Link href="/targets" prefetch={false} className="text-accent underline">
            Targets
          </Link>
        </p>
      ))}
    </>
  );
}
