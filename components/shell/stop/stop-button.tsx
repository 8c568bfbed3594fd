"use client";

import { OctagonX } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/ui/button";
import { lazily } from "@/components/ui/lazily";
import { useStatus } from "@/lib/observe/health/status.browser";
import type { StopOrder } from "./stop-dialog";

const StopDialog = lazily(() => import("./stop-dialog"), "StopDialog");

/** The red button of every page: stops all sends. While they are stopped the band resumes them. */
export function StopButton() {
  const [order, setOrder] = useState<StopOrder | null>(null);
  const stopped = useStatus().data?.stops?.some(({ target }) => target === null) ?? false;
  if (stopped && order === null) return null;
  return (
    <>
      <Button
        needs="redrive"
        everySource
        variant="danger"
        onClick={() => setOrder({ stop: true, target: null })}
        aria-label="Stop all sends"
        data-tip="Stop all sends; parking and confirmations continue"
        className="px-1.5! lg:px-2!"
      >
        <OctagonX size={14} aria-hidden />
        Stop<span className="-ml-0.5 hidden lg:inline"> all sends</span>
      </Button>
      {order ? <StopDialog order={order} onClose={() => setOrder(null)} /> : null}
    </>
  );
}
