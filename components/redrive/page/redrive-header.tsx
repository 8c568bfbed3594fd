"use client";

import { Ban, Pause, Play } from "lucide-react";
import { useState } from "react";
import { placeWords, redriveTitle } from "@/components/redrive/redrive-title";
import { StallLine } from "@/components/redrive/stall-line";
import { StateOfRedrive } from "@/components/redrive/state-of-redrive";
import { ActionButton } from "@/components/ui/action-button";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { Breadcrumb } from "@/components/ui/page-header";
import { showToast } from "@/components/ui/toast";
import { underWayWords } from "@/components/ui/under-way-words";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { useChangeRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal, nextRedriveState } from "@/lib/states/redrive-state.pure";
import { isBraked } from "./redrive-braked";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");

export function RedriveHeader({ redrive, onCancel }: { redrive: RedriveOut; onCancel: () => void }) {
  const change = useChangeRedrive(redrive.id);
  const [again, setAgain] = useState(false);
  const pauseOrResume = (action: "pause" | "resume") =>
    change.mutate(
      { action },
      {
        onSuccess: ({ underWay }) => {
          const detail = underWayWords(underWay);
          if (detail !== undefined) void showToast({ title: "Redrive paused", detail });
        },
      },
    );
  const waitsForTime = redrive.state === "PLANNED" && redrive.waitsFor.some((wait) => wait !== "approval");
  const may = (move: "pause" | "resume" | "cancel") => nextRedriveState(redrive.state, move) !== null;
  return (
    <>
      <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2">
        <Breadcrumb href="/redrives" label="Redrives" />
        <h1 className="line-clamp-2 min-w-0 text-xl font-semibold tracking-tight wrap-anywhere" title={redrive.reason}>
          {redriveTitle(redrive)}
        </h1>
        <StateOfRedrive redrive={redrive} />
        <span className="text-muted">{redrive.mode === "verify" ? "dry run, sends nothing" : placeWords(redrive)}</span>
        <div className="ml-auto flex gap-2">
          {waitsForTime ? (
            <ActionButton
              needs="redrive"
              variant="primary"
              data-command="Start this redrive now"
              busy={change.isPending}
              onClick={() => change.mutate({ action: "start" })}
            >
              <Play size={13} aria-hidden /> Start now
            </ActionButton>
          ) : null}
          {/* One button that changes its label, so that the focus stays on it. */}
          {may("pause") || may("resume") ? (
            <ActionButton
              needs="redrive"
              stops={may("pause")}
              data-command={may("pause") ? "Pause this redrive" : "Resume this redrive"}
              variant={may("resume") && !isBraked(redrive) ? "primary" : "secondary"}
              busy={change.isPending}
              onClick={() => pauseOrResume(may("pause") ? "pause" : "resume")}
            >
              {may("pause") ? <Pause size={13} aria-hidden /> : <Play size={13} aria-hidden />}
              {may("pause") ? "Pause" : "Resume"}
            </ActionButton>
          ) : null}
          {isFinal(redrive.state) && redrive.mode === "deliver" && redrive.cancelled > 0 ? (
            <ActionButton needs="redrive" data-command="Redrive the remaining events…" onClick={() => setAgain(true)}>
              Redrive the remaining {formatNumber(redrive.cancelled)}…
            </ActionButton>
          ) : null}
          {may("cancel") ? (
            <Button needs="redrive" variant="danger" data-command="Cancel this redrive…" onClick={onCancel}>
              <Ban size={13} aria-hidden /> Cancel…
            </Button>
          ) : null}
        </div>
      </header>
      {again ? (
        <RedriveDialog
          selection={{ redrive: redrive.id, outcome: ["cancelled"] }}
          total={redrive.cancelled}
          onClose={() => setAgain(false)}
        />
      ) : null}
      {redrive.stalled && !isBraked(redrive) && redrive.stalled.code !== "approval" ? (
        <p className="mx-3 mb-3 rounded-md border border-l-2 border-warning bg-surface px-3 py-2 wrap-anywhere">
          <StallLine stalled={redrive.stalled} />
        </p>
      ) : null}
      {change.isError ? (
        <div className="px-3 pb-3">
          <ErrorPanel error={change.error} inline title="Request failed" />
        </div>
      ) : null}
    </>
  );
}
