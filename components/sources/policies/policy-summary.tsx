"use client";

import { Table, Td, Th, Tr } from "@/components/ui/table";
import { type PolicyView, preciseDuration } from "./policy-view";

/** The limits of a policy: W, its load on a target, and the times of each attempt. */
export function PolicySummary({ view }: { view: PolicyView }) {
  if (!view.ok) return <Problems problems={view.problems} />;
  return (
    <div className="grid gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
        <dt className="text-muted">W: longest time for all attempts</dt>
        <dd className="text-right font-mono">{preciseDuration(view.upperBoundMs)}</dd>
        <dt className="text-muted">deadline, less its margin</dt>
        <dd className="text-right font-mono">{preciseDuration(view.policy.deadlineMs - view.policy.marginMs)}</dd>
        <dt className="text-muted">left to spare</dt>
        <dd className="text-right font-mono">{preciseDuration(view.slackMs)}</dd>
        <dt className="text-muted">load on a target that fails every send</dt>
        <dd className="text-right font-mono">{view.loadFactor.toFixed(1)} ×</dd>
      </dl>
      <ScheduleChart view={view} />
    </div>
  );
}

function Problems({ problems }: { problems: { field: string; detail: string }[] }) {
  return (
    <div role="alert">
      <p className="font-medium text-danger">This policy cannot run:</p>
      <ul className="mt-1 grid gap-0.5">
        {problems.map((problem) => (
          <li key={problem.field}>
            <code className="font-mono text-sm">{problem.field}</code>{" "}
            <span className="text-muted">{problem.detail}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A policy may have a thousand attempts; only this many get a row. */
const ROWS_MAX = 20;

/** Earliest start and latest end of each attempt. Light: possible starts, by the jitter. Dark: the last possible run. */
function ScheduleChart({ view }: { view: Extract<PolicyView, { ok: true }> }) {
  const span = Math.max(view.policy.deadlineMs, view.upperBoundMs);
  const percent = (ms: number) => `${(ms / span) * 100}%`;
  const shown = view.steps.slice(0, ROWS_MAX);
  return (
    <div className="min-w-0">
      <Table focusable aria-label="Schedule of attempts">
        <thead>
          <tr>
            <Th numeric>attempt</Th>
            <Th>waits before</Th>
            <Th>begins</Th>
            <Th className="w-1/2 min-w-40">
              <span className="flex justify-between">
                <span>0</span>
                <span>deadline {preciseDuration(view.policy.deadlineMs)}</span>
              </span>
            </Th>
          </tr>
        </thead>
        <tbody>
          {shown.map((step) => (
            <Tr key={step.attempt}>
              <Td numeric className="font-mono">
                {step.attempt}
              </Td>
              <Td className="whitespace-nowrap">{range(step.delayMsMin, step.delayMsMax)}</Td>
              <Td className="whitespace-nowrap">{range(step.startMsMin, step.startMsMax)}</Td>
              <Td>
                <div aria-hidden className="relative h-3 rounded-sm bg-canvas">
                  <div
                    className="absolute inset-y-0 bg-queued/30"
                    style={{ left: percent(step.startMsMin), width: percent(step.startMsMax - step.startMsMin) }}
                  />
                  <div
                    className="absolute inset-y-0 min-w-px rounded-xs bg-queued"
                    style={{ left: percent(step.startMsMax), width: percent(step.endMsMax - step.startMsMax) }}
                  />
                </div>
              </Td>
            </Tr>
          ))}
        </tbody>
      </Table>
      {view.steps.length > ROWS_MAX ? (
        <p className="px-3 pt-1 text-sm text-muted">and {view.steps.length - ROWS_MAX} more attempts</p>
      ) : null}
    </div>
  );
}

function range(minMs: number, maxMs: number): string {
  if (maxMs === 0) return "at once";
  return minMs === maxMs ? preciseDuration(maxMs) : `${preciseDuration(minMs)} – ${preciseDuration(maxMs)}`;
}
