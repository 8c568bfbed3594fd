"use client";

import { useId, useState } from "react";
import { formatShare } from "@/lib/platform/plain/format.pure";
import { oddsAt, type PolicyView, preciseDuration } from "./policy-view";
import { ScheduleChart } from "./schedule-chart";

/** The limits of a policy: W, the odds for an adjustable failure rate, and the times of each attempt. */
export function PolicySummary({ view }: { view: PolicyView }) {
  const id = useId();
  const [failPercent, setFailPercent] = useState(30);
  if (!view.ok) return <Problems problems={view.problems} />;
  const odds = oddsAt(view.policy, failPercent / 100);
  return (
    <div className="grid gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
      <div className="grid content-start gap-3">
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
          <dt className="text-muted">W, the longest it can take</dt>
          <dd className="text-right font-mono">{preciseDuration(view.upperBoundMs)}</dd>
          <dt className="text-muted">deadline, less its margin</dt>
          <dd className="text-right font-mono">{preciseDuration(view.policy.deadlineMs - view.policy.marginMs)}</dd>
          <dt className="text-muted">left to spare</dt>
          <dd className="text-right font-mono">{preciseDuration(view.slackMs)}</dd>
          <dt className="text-muted">load on a target that fails all</dt>
          <dd className="text-right font-mono">{view.loadFactor.toFixed(1)} ×</dd>
        </dl>
        <div className="grid gap-1">
          <label htmlFor={id} className="text-muted">
            If each attempt fails with {failPercent} %
          </label>
          <input
            id={id}
            type="range"
            min={1}
            max={95}
            value={failPercent}
            onChange={(event) => setFailPercent(Number(event.target.value))}
          />
          <output htmlFor={id}>
            <strong className="font-medium">{formatShare(odds.success)}</strong> succeed, with{" "}
            <strong className="font-medium">{odds.attempts.toFixed(2)}</strong> attempts on average
          </output>
          <p className="text-sm text-muted">
            Assumes that failures are independent. In an outage they are not: then nearly all fail together.
          </p>
        </div>
      </div>
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
