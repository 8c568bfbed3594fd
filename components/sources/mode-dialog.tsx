"use client";

import { ReasonDialog } from "@/components/ui/reason-dialog";
import type { SourceMode } from "@/lib/brokers/source-mode.pure";
import { useSaveSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";

export type EndingMode = Exclude<SourceMode, "running">;

const WORDS: Record<EndingMode, { verb: string; done: string; effect: string }> = {
  paused: {
    verb: "Pause",
    done: "Paused",
    effect:
      "The workers close their connections within two seconds. Messages that are not parked stay at the broker, unacknowledged.",
  },
  draining: {
    verb: "Drain",
    done: "Draining",
    effect: "It is read until it is empty, then paused. Later messages stay at the broker.",
  },
  stopped: {
    verb: "Stop",
    done: "Stopped",
    effect:
      "Workers do not read it or report on it until it is started again. Messages that are not parked stay at the broker. Its parked events stay and can be redriven.",
  },
};

export function ModeDialog(props: { source: SourceOut; mode: EndingMode; onClose: () => void }) {
  const { source, mode, onClose } = props;
  const save = useSaveSource(source.name);
  const { verb, done, effect } = WORDS[mode];
  return (
    <ReasonDialog
      needs="change-source"
      title={<span className="wrap-anywhere">{`${verb} ${source.name}?`}</span>}
      description={effect}
      size="sm"
      verb={verb}
      reason="optional"
      stops
      onClose={onClose}
      onSubmit={async (reason) => {
        await save.mutateAsync({ mode, ...(reason === "" ? {} : { reason }) });
        return {
          title: `${done} ${source.name}`,
          action: { label: "Undo", onSelect: () => save.mutate({ mode: source.mode }) },
        };
      }}
    />
  );
}
