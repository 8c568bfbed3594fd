"use client";

import { useId, useState } from "react";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Radio } from "@/components/ui/input";
import { Panel } from "@/components/ui/panel";
import { useChangeRedrive } from "@/lib/browser/redrives";
import type { RedriveOut } from "@/lib/contract/redrives";
import { redriveTimeMs } from "@/lib/core/redrive-rate";
import { etaBefore, rateWords } from "./eta-words";
import { RateField } from "./rate-field";
import { RATE_MAX_UNLIMITED } from "./rate-scale";

/** The rate and the lane of a running redrive. A change holds within seconds of the slider's release. */
export function RedrivePace({ redrive, className }: { redrive: RedriveOut; className?: string }) {
  const change = useChangeRedrive(redrive.id);
  const laneRate = redrive.laneRatePerSecond;
  const set = redrive.ratePerSecond ?? redrive.effectiveRatePerSecond ?? RATE_MAX_UNLIMITED;
  // null = the slider is not held and follows the server, where another operator may have changed the rate.
  const [held, setHeld] = useState<number | null>(null);
  const rate = held ?? set;
  const name = useId();
  // The choice shows at once; a failed answer reverts it.
  const [asked, setAsked] = useState<RedriveOut["lane"] | null>(null);
  const lane = asked ?? redrive.lane;
  const switchTo = (next: RedriveOut["lane"]) => {
    setAsked(next);
    change.mutate({ lane: next }, { onSettled: () => setAsked(null) });
  };
  const owner = redrive.target ?? "the lane";
  const targets = [{ ratePerSecond: laneRate, warmUpMs: 0 }];
  const eta = redriveTimeMs({ events: redrive.open, asked: rate, targets });

  return (
    <Panel className={className} title="Pace" bodyClassName="grid gap-3 p-3">
      <RateField
        rate={rate}
        laneRate={laneRate}
        onChange={setHeld}
        onCommit={(next) => {
          if (next === set) return setHeld(null);
          // Held until the answer, so that the slider does not jump back meanwhile.
          change.mutate({ ratePerSecond: next }, { onSettled: () => setHeld(null) });
        }}
      />
      <p className="text-muted">
        {rate === set
          ? `set to ${redrive.ratePerSecond === null ? `${owner}'s own rate, ${rateWords(redrive.effectiveRatePerSecond)}` : rateWords(redrive.ratePerSecond)}`
          : `the rest ${etaBefore(eta)}`}
        {redrive.ratePerSecond !== null &&
        redrive.effectiveRatePerSecond !== null &&
        redrive.effectiveRatePerSecond < redrive.ratePerSecond
          ? `, held to ${rateWords(redrive.effectiveRatePerSecond)} by its target`
          : null}
      </p>
      {redrive.ratePerSecond !== null ? (
        <Button size="sm" className="justify-self-start" onClick={() => change.mutate({ ratePerSecond: null })}>
          Use {owner}'s own rate
        </Button>
      ) : null}
      <div role="radiogroup" aria-label="Lane" className="flex gap-6">
        {(["slow", "main"] as const).map((each) => (
          <label key={each} htmlFor={`${name}-${each}`} className="flex items-center gap-2">
            <Radio id={`${name}-${each}`} name={name} checked={lane === each} onChange={() => switchTo(each)} />
            {each} lane{redrive.target === null ? null : <span className="text-muted"> of the workers</span>}
          </label>
        ))}
      </div>
      {change.isError ? <ErrorPanel error={change.error} inline title="This was not done" /> : null}
    </Panel>
  );
}
