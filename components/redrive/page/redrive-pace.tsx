"use client";

import { useId, useState } from "react";
import { etaBefore, rateWords } from "@/components/redrive/eta-words";
import { RateField } from "@/components/redrive/rate-field";
import { RATE_MAX_UNLIMITED } from "@/components/redrive/rate-scale";
import { Button } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Radio } from "@/components/ui/input";
import { Panel } from "@/components/ui/panel";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import { useStaleReason } from "@/lib/platform/browser/freshness.browser";
import { redriveTimeMs } from "@/lib/redrive/pace/redrive-estimate.pure";
import { useChangeRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { useTargets } from "@/lib/sources/targets/targets.browser";

/** The rate and the lane of a running redrive. A change holds within seconds of the slider's release. */
export function RedrivePace({ redrive, className }: { redrive: RedriveOut; className?: string }) {
  const change = useChangeRedrive(redrive.id);
  const laneRate = redrive.laneRatePerSecond;
  const set = redrive.ratePerSecond ?? redrive.effectiveRatePerSecond ?? RATE_MAX_UNLIMITED;
  // null = the slider is not held and follows the server, where another operator may have changed the rate.
  const [held, setHeld] = useState<number | null>(null);
  const [heldPlaces, setHeldPlaces] = useState<number | null>(null);
  const rate = held ?? set;
  const name = useId();
  // The choice shows at once; a failed answer reverts it.
  const [asked, setAsked] = useState<RedriveOut["lane"] | null>(null);
  const lane = asked ?? redrive.lane;
  const switchTo = (next: RedriveOut["lane"]) => {
    setAsked(next);
    change.mutate({ lane: next }, { onSettled: () => setAsked(null) });
  };
  const missing = useRefusal("redrive");
  const stale = useStaleReason();
  const refusal = missing ?? stale;
  const owner = redrive.target ?? "the lane";
  const places = redrive.places ?? 0;
  const atOnce = Math.min(heldPlaces ?? redrive.concurrency ?? places, places);
  const timeAt = (asked: number | null, lane: number | null) =>
    redriveTimeMs({ events: redrive.open, asked, targets: [{ ratePerSecond: lane, warmUpMs: 0 }] });
  const byPlaces = useRateOfPlaces(redrive, atOnce);
  const limited = heldPlaces !== null && byPlaces !== null && byPlaces < rate;
  const eta = timeAt(limited ? byPlaces : rate, laneRate);

  return (
    <Panel className={className} title="Pace">
      <fieldset
        aria-label="Rate and lane"
        className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3 p-3"
        disabled={refusal !== null}
      >
        {refusal === null ? null : <p className="text-muted">{refusal}</p>}
        <RateField
          rate={rate}
          laneRate={laneRate}
          onChange={setHeld}
          onCancel={() => setHeld(null)}
          onCommit={(next) => {
            if (next === set) return setHeld(null);
            // Held until the answer, so that the slider does not jump back meanwhile.
            change.mutate({ ratePerSecond: next }, { onSettled: () => setHeld(null) });
          }}
        />
        <p className="text-muted">
          {rate === set && heldPlaces === null
            ? `set to ${redrive.ratePerSecond === null ? `${owner}'s own rate, ${rateWords(redrive.effectiveRatePerSecond)}` : rateWords(redrive.ratePerSecond)}`
            : `the rest ${etaBefore(eta)}${limited ? ", limited by parallel sends" : ""}`}
          {redrive.ratePerSecond !== null &&
          redrive.effectiveRatePerSecond !== null &&
          redrive.effectiveRatePerSecond < redrive.ratePerSecond
            ? `, limited to ${rateWords(redrive.effectiveRatePerSecond)} by its target`
            : null}
        </p>
        {redrive.ratePerSecond !== null ? (
          <Button
            needs="redrive"
            size="sm"
            className="justify-self-start"
            onClick={() => change.mutate({ ratePerSecond: null })}
          >
            Use {owner}'s own rate
          </Button>
        ) : null}
        {places > 1 ? (
          <ConcurrencyField
            value={atOnce}
            places={places}
            onChange={setHeldPlaces}
            onCancel={() => setHeldPlaces(null)}
            onCommit={(next) => {
              const asked = next === places ? null : next;
              if (asked === redrive.concurrency) return setHeldPlaces(null);
              // Held until the answer, so that the slider does not jump back meanwhile.
              change.mutate({ concurrency: asked }, { onSettled: () => setHeldPlaces(null) });
            }}
          />
        ) : null}
        <div role="radiogroup" aria-label="Lane" className="flex gap-6">
          {(["slow", "main"] as const).map((each) => (
            <label key={each} htmlFor={`${name}-${each}`} className="flex items-center gap-2">
              <Radio id={`${name}-${each}`} name={name} checked={lane === each} onChange={() => switchTo(each)} />
              <span>
                {each} lane
                <span className="block text-sm text-muted">
                  {redrive.target === null ? laneWords(redrive, each, timeAt) : "only sets which workers send"}
                </span>
              </span>
            </label>
          ))}
        </div>
        {change.isError ? <ErrorPanel error={change.error} inline title="Request failed" /> : null}
      </fieldset>
    </Panel>
  );
}

/** `5/s, takes about 4 min`: the effect of a lane on what is left, at the redrive's own rate. */
function laneWords(
  { laneRates, ratePerSecond }: RedriveOut,
  lane: RedriveOut["lane"],
  timeAt: (asked: number | null, lane: number | null) => number | null,
): string {
  const rate = laneRates[lane];
  const least = rate === null || ratePerSecond === null ? (rate ?? ratePerSecond) : Math.min(rate, ratePerSecond);
  return `${rateWords(least)}, ${etaBefore(timeAt(ratePerSecond, rate))}`;
}

/** The rate that one worker reaches with this concurrency, at the latency that the workers report; null = no worker has reported one. */
function useRateOfPlaces({ lane, target }: RedriveOut, atOnce: number): number | null {
  const { data } = useTargets();
  const engines = (data?.items ?? [])
    .filter((each) => (target === null ? each.lane === lane : each.name === target))
    .flatMap(({ engine }) => engine);
  const latencies = engines.flatMap(({ latency }) => latency.p50Ms ?? []);
  if (latencies.length === 0) return null;
  return (atOnce * 1_000) / Math.max(...latencies, 1);
}

/** A slider for the sends at once. It calls `onChange` while it moves and `onCommit` when it is released. */
function ConcurrencyField(props: {
  value: number;
  /** The right end. */
  places: number;
  onChange: (value: number) => void;
  onCommit: (value: number) => void;
  onCancel: () => void;
}) {
  const { value, places, onChange, onCommit, onCancel } = props;
  const id = useId();
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="flex justify-between gap-2">
        <span>parallel sends per worker</span>
        <span className="font-mono">
          {value} of {places}
        </span>
      </label>
      <input
        id={id}
        type="range"
        min={1}
        max={places}
        step={1}
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
        onPointerUp={() => onCommit(value)}
        onPointerCancel={onCancel}
        onKeyUp={() => onCommit(value)}
        className="h-6"
      />
    </div>
  );
}
