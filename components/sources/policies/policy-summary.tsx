import { type PolicyView, preciseDuration } from "./policy-view";
import { ScheduleChart } from "./schedule-chart";

/** The limits of a policy: W, its load on a target, and the times of each attempt. */
export function PolicySummary({ view }: { view: PolicyView }) {
  if (!view.ok) return <Problems problems={view.problems} />;
  return (
    <div className="grid gap-4 lg:grid-cols-[22rem_minmax(0,1fr)]">
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
