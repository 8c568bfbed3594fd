"use client";

import { OctagonX } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { TimeAgo } from "@/components/ui/time-ago";
import type { StopOut } from "@/lib/guard/stops/stops.shapes";
import { useStatus } from "@/lib/observe/health/status.browser";
import type { StopOrder } from "./stop-dialog";

const StopDialog = lazily(() => import("./stop-dialog"), "StopDialog");

/** Shown on every page while sends are stopped: who stopped what, since when, why, and how to resume. */
export function StopBand() {
  const stops = useStatus().data?.stops ?? [];
  const [order, setOrder] = useState<StopOrder | null>(null);
  return (
    <>
      {stops.length === 0 ? null : (
        <section aria-label="Stopped sends" className="max-h-32 overflow-y-auto border-b border-danger bg-surface">
          {stops.map((stop) => (
            <Stopped
              key={stop.target ?? ""}
              stop={stop}
              onResume={() => setOrder({ stop: false, target: stop.target })}
            />
          ))}
        </section>
      )}
      {order ? <StopDialog order={order} onClose={() => setOrder(null)} /> : null}
    </>
  );
}

function Stopped({
  stop: { target, createdBy, createdAt, reason },
  onResume,
}: {
  stop: StopOut;
  onResume: () => void;
}) {
  return (
    <div role="status" className="flex items-start gap-2 px-4 py-1.5">
      <OctagonX size={14} aria-hidden className="mt-1 shrink-0 text-danger" />
      <p className="mt-0.5 min-w-0 flex-1 wrap-anywhere">
        <strong className="font-medium text-danger">
          {target === null ? "All sends are stopped" : `Sends to ${target} are stopped`}
        </strong>{" "}
        by {createdBy}, <TimeAgo at={createdAt} />: {reason}
      </p>
      <Button
        needs="redrive"
        everySource={target === null}
        size="sm"
        onClick={onResume}
        aria-label={target === null ? "Resume all sends" : `Resume sends to ${target}`}
      >
        Resume…
      </Button>
    </div>
  );
}
