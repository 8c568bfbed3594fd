"use client";

import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { StopOrder } from "@/components/shell/stop/stop-dialog";
import { ContractPanel } from "@/components/sources/contracts/contract-panel";
import { Button } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { lazily } from "@/components/ui/lazily";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/popup-button";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { formatDuration } from "@/lib/platform/plain/format.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import type { PolicyOut, TargetChange } from "@/lib/sources/targets/targets.shapes";
import { type BreakerWord, type EngineView, engineView } from "./engine-view";
import { TargetDetails, TargetOrigin } from "./target-details";
import { TARGET_NUMBERS } from "./target-numbers";

const TargetDialog = lazily(() => import("./target-dialog"), "TargetDialog");
const BreakerDialog = lazily(() => import("./breaker-dialog"), "BreakerDialog");

const StopDialog = lazily(() => import("@/components/shell/stop/stop-dialog"), "StopDialog");

type BreakerOrder = NonNullable<TargetChange["breaker"]>;

const ORDERS: { id: BreakerOrder; label: string; hint?: string }[] = [
  { id: "open", label: "Hold open…", hint: "nothing is sent" },
  { id: "closed", label: "Hold closed…", hint: "sends regardless of failures" },
  { id: "auto", label: "Return to automatic…" },
  { id: "reset", label: "Reset…", hint: "clears its counts" },
];

const BREAKER_LOOKS: Record<BreakerWord, { shape: ShapeName; colour: string; word: string }> = {
  closed: { shape: "disc", colour: "text-ok", word: "CLOSED" },
  "half-open": { shape: "half", colour: "text-pending", word: "HALF-OPEN" },
  open: { shape: "cross", colour: "text-danger", word: "OPEN" },
  none: { shape: "ring", colour: "text-muted", word: "NO BREAKER" },
};

/** One target: what its workers report now, and the changes that an operator may make. The rest unfolds below it. */
export function TargetRow(props: {
  target: TargetOut;
  /** Its sends are stopped by an operator. */
  stopped: boolean;
  others: readonly string[];
  policies: PolicyOut[] | undefined;
}) {
  const { target, stopped, others, policies } = props;
  const [isOpen, setIsOpen] = useState(false);
  const [editing, setEditing] = useState(false);
  const [order, setOrder] = useState<BreakerOrder | null>(null);
  const [stop, setStop] = useState<StopOrder | null>(null);
  const engine = engineView(target.engine);
  const entries = ORDERS.map(
    (each): MenuEntry => ({
      ...each,
      needs: "change-target",
      disabled: each.id === "auto" && target.breakerForce === null,
      onSelect: () => setOrder(each.id),
    }),
  ).toSpliced(-1, 0, { kind: "separator", id: "line" });
  const buttons = (
    <div className="flex gap-2 sm:justify-end">
      <MenuButton name={`Breaker of ${target.name}`} label="Breaker ▾" size="sm" entries={entries} />
      <Button
        needs="redrive"
        size="sm"
        aria-label={`${stopped ? "Resume" : "Stop"} sends to ${target.name}`}
        onClick={() => setStop({ stop: !stopped, target: target.name })}
      >
        {stopped ? "Resume…" : "Stop…"}
      </Button>
      <Button needs="change-target" size="sm" onClick={() => setEditing(true)}>
        Edit…
      </Button>
    </div>
  );
  return (
    <tbody aria-label={target.name}>
      <Tr>
        <Td className="max-w-64 max-sm:max-w-40">
          <button
            type="button"
            aria-expanded={isOpen}
            aria-label={`${target.name}: details`}
            data-tip={target.name}
            className="flex min-h-6 max-w-full items-center gap-1.5 font-mono font-medium hover:text-accent"
            onClick={() => setIsOpen(!isOpen)}
          >
            <ChevronRight aria-hidden className={classNames("size-3.5 shrink-0 text-faint", isOpen && "rotate-90")} />
            <span className="truncate">{target.name}</span>
          </button>
        </Td>
        <Td className="max-w-48 truncate max-lg:hidden">
          <TargetOrigin target={target} />
        </Td>
        <Td className="sm:whitespace-nowrap">
          <Breaker target={target} engine={engine} stopped={stopped} />
        </Td>
        {TARGET_NUMBERS.map(({ name, shown, text, warns }) => (
          <Td
            key={name}
            numeric
            className={classNames("whitespace-nowrap", engine && warns?.(engine) && "text-warning", shown.column)}
          >
            {text(target, engine)}
          </Td>
        ))}
        <Td className="max-sm:hidden">
          {buttons}
          {editing ? (
            <TargetDialog target={target} others={others} policies={policies} onClose={() => setEditing(false)} />
          ) : null}
          {order ? <BreakerDialog target={target} order={order} onClose={() => setOrder(null)} /> : null}
          {stop ? <StopDialog order={stop} onClose={() => setStop(null)} /> : null}
        </Td>
      </Tr>
      {isOpen ? (
        <tr>
          <Td colSpan={8} className="bg-surface py-3">
            <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
              <div className="sm:hidden">{buttons}</div>
              <TargetDetails target={target} engine={engine} />
              <ContractPanel target={target} />
            </div>
          </Td>
        </tr>
      ) : null}
    </tbody>
  );
}

function Breaker({ target, engine, stopped }: { target: TargetOut; engine: EngineView | null; stopped: boolean }) {
  // An operator's order holds before any worker has reported.
  const state = target.breakerForce ?? engine?.breaker.state;
  if (target.address === null) return <span className="text-warning">no destination: redrives are refused</span>;
  if (stopped) {
    const meaning = `nothing is sent until it is resumed${state ? `; breaker ${BREAKER_LOOKS[state].word}` : ""}`;
    return <State look={{ shape: "cross", colour: "text-danger", word: "STOPPED" }}>{meaning}</State>;
  }
  if (target.unreachable !== null) {
    const { since, detail } = target.unreachable;
    return (
      <State look={{ shape: "triangle", colour: "text-danger", word: "UNREACHABLE" }}>
        <span className="wrap-anywhere whitespace-normal">
          {detail}, first <TimeAgo at={since} />
        </span>
      </State>
    );
  }
  if (state === undefined)
    return (
      <span className="text-muted" data-tip="No worker has sent to it since it started">
        Not used yet
      </span>
    );
  return <State look={BREAKER_LOOKS[state]}>{breakerMeaning(target, state, engine?.breaker.waitMs ?? null)}</State>;
}

function State(props: { look: { shape: ShapeName; colour: string; word: string }; children: ReactNode }) {
  const { look, children } = props;
  return (
    <span className={classNames("flex flex-wrap items-center gap-x-2", look.colour)}>
      <Shape name={look.shape} />
      <span className="font-mono text-sm">{look.word}</span>
      <span className="text-muted">{children}</span>
    </span>
  );
}

function breakerMeaning({ breakerForce }: TargetOut, state: BreakerWord, waitMs: number | null): string {
  if (breakerForce !== null) return `held ${breakerForce} by an operator`;
  if (state === "open") return waitMs === null ? "nothing is sent" : `probes in ${formatDuration(waitMs)}`;
  return { "half-open": "probing", none: "its policy has none", closed: "sending" }[state];
}
