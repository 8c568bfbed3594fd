"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import { underWayWords } from "@/components/ui/under-way-words";
import { useResumeSends, useStopSends } from "@/lib/guard/stops/stops.browser";

/** `target` null = everything. */
export type StopOrder = { stop: boolean; target: string | null };

/** Stops or resumes the sends, to one target or all. */
export function StopDialog({ order: { stop, target }, onClose }: { order: StopOrder; onClose: () => void }) {
  const what = target === null ? "all sends" : `sends to ${target}`;
  return stop ? (
    <Stop target={target} what={what} onClose={onClose} />
  ) : (
    <Resume target={target} what={what} onClose={onClose} />
  );
}

type Part = { target: string | null; what: string; onClose: () => void };

function Stop({ target, what, onClose }: Part) {
  const stop = useStopSends();
  return (
    <ReasonDialog
      needs="redrive"
      everySource={target === null}
      title={`Stop ${what}?`}
      description="No further send starts, in any redrive on any worker, until someone resumes. Only sends stop: parking, consumers, dry runs and confirmations continue."
      size="sm"
      verb={`Stop ${what}`}
      variant="danger"
      keep="Keep sending"
      reasonHint="Shown in the banner on every page."
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        const { underWay, createdBy, reason: first } = await stop.mutateAsync({ target, reason });
        const title = `${what[0]!.toUpperCase()}${what.slice(1)} stopped`;
        // Somebody else was first: the stop in force carries the first reason.
        const others = first === reason ? undefined : `${createdBy} had stopped them: ${first}.`;
        return {
          title,
          detail: [others, underWayWords(underWay)].filter(Boolean).join(" ") || "No send is under way.",
        };
      }}
    />
  );
}

function Resume({ target, what, onClose }: Part) {
  const resume = useResumeSends();
  return (
    <ReasonDialog
      needs="redrive"
      everySource={target === null}
      title={`Resume ${what}?`}
      description="Redrives continue as they were; those that a person paused stay paused. A target with a warm-up starts slowly."
      size="sm"
      verb={`Resume ${what}`}
      keep="Leave it stopped"
      reason="optional"
      onClose={onClose}
      onSubmit={async (reason) => {
        await resume.mutateAsync({ target, ...(reason === "" ? {} : { reason }) });
        return { title: `${what[0]!.toUpperCase()}${what.slice(1)} resumed`, tone: "success" };
      }}
    />
  );
}
