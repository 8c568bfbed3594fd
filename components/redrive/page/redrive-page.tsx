"use client";

import { useState } from "react";
import { ApprovalPanel, RedriveSamples } from "@/components/guard/approvals/approval-panel";
import { redriveTitle } from "@/components/redrive/redrive-title";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { Skeleton, SkeletonRows } from "@/components/ui/skeleton";
import { useTitle } from "@/components/ui/use-title";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useLastLook, useRedrive } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";
import { isBraked, RedriveBraked } from "./redrive-braked";
import { RedriveCauses } from "./redrive-causes";
import { RedriveFacts } from "./redrive-facts";
import { RedriveHeader } from "./redrive-header";
import { RedriveItems } from "./redrive-items";
import { RedrivePace } from "./redrive-pace";
import { RedrivePassed } from "./redrive-passed";
import { RedriveProgress } from "./redrive-progress";
import { RedriveRateChart } from "./redrive-rate-chart";

const CancelDialog = lazily(() => import("./cancel-dialog"), "CancelDialog");

/** One redrive: live while it runs, and a record afterwards. */
export function RedrivePage({ id }: { id: string }) {
  const redrive = useRedrive(id);
  useLastLook(id, redrive.data?.state);
  useTitle(redrive.data && redriveTitle(redrive.data));
  if (redrive.isPending) return <RedriveSkeleton />;
  if (redrive.data) {
    return (
      <>
        <ReadError read={redrive} stale />
        <Loaded redrive={redrive.data} />
      </>
    );
  }
  if (redrive.error instanceof ApiError && redrive.error.code === "unknown-redrive") {
    return (
      <>
        <PageHeader title="Redrive" />
        <EmptyState title="Redrive not found" action={<LinkButton href="/redrives">All redrives</LinkButton>}>
          The address may be incomplete. Redrives are never deleted.
        </EmptyState>
      </>
    );
  }
  return (
    <>
      <PageHeader title="Redrive" />
      <ErrorPanel error={redrive.error} onRetry={() => redrive.refetch()} />
    </>
  );
}

const COLUMNS = "flex flex-col gap-3 px-3 pb-4 lg:grid lg:grid-cols-[minmax(0,1fr)_20rem] lg:items-start";

function Loaded({ redrive }: { redrive: RedriveOut }) {
  const live = !isFinal(redrive.state);
  const sends = redrive.mode === "deliver";
  const [cancelling, setCancelling] = useState(false);
  return (
    <>
      <RedriveHeader redrive={redrive} onCancel={() => setCancelling(true)} />
      {cancelling ? <CancelDialog redrive={redrive} onClose={() => setCancelling(false)} /> : null}
      {/* On a phone one column: progress, rate, failures, then creator and reason. */}
      <div className={COLUMNS}>
        <div className="contents lg:flex lg:flex-col lg:gap-3">
          {isBraked(redrive) ? <RedriveBraked redrive={redrive} onCancel={() => setCancelling(true)} /> : null}
          {redrive.approval ? (
            <ApprovalPanel approval={redrive.approval}>
              <RedriveSamples redrive={redrive} />
            </ApprovalPanel>
          ) : null}
          <RedriveProgress redrive={redrive} />
          {sends ? <RedriveRateChart redrive={redrive} live={live} className="order-2 lg:order-none" /> : null}
          <RedriveCauses redrive={redrive} live={live} className="order-3 lg:order-none" />
          <RedriveItems redrive={redrive} live={live} className="order-4 lg:order-none" />
        </div>
        <div className="contents lg:flex lg:flex-col lg:gap-3">
          {!live && !sends && redrive.passed > 0 ? <RedrivePassed redrive={redrive} /> : null}
          {live && sends ? <RedrivePace redrive={redrive} className="order-1 lg:order-none" /> : null}
          <RedriveFacts redrive={redrive} className="order-5 lg:order-none" />
        </div>
      </div>
    </>
  );
}

function RedriveSkeleton() {
  return (
    <div role="status" aria-label="Loading">
      <h1 className="sr-only">Redrive</h1>
      <Skeleton className="m-4 h-4! w-72" />
      <div className={COLUMNS}>
        <div className="grid gap-3">
          <Panel bodyClassName="grid h-36 content-center gap-4 p-3">
            <Skeleton className="w-1/3" />
            <Skeleton className="h-3!" />
          </Panel>
          <Panel title="Rate over time" bodyClassName="px-3 pb-3">
            <Skeleton className="h-52!" />
          </Panel>
        </div>
        <Panel title="Who and why" bodyClassName="p-3">
          <SkeletonRows rows={8} columns={["w-16", "flex-1"]} />
        </Panel>
      </div>
    </div>
  );
}
