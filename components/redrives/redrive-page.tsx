"use client";

import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { Skeleton } from "@/components/ui/skeleton";
import { ApiError } from "@/lib/browser/fetch-json";
import { isFinal, useLastLook, useRedrive } from "@/lib/browser/redrives";
import type { RedriveOut } from "@/lib/contract/redrives";
import { RedriveCauses } from "./redrive-causes";
import { RedriveFacts } from "./redrive-facts";
import { RedriveHeader } from "./redrive-header";
import { RedriveItems } from "./redrive-items";
import { RedrivePace } from "./redrive-pace";
import { RedriveProgress } from "./redrive-progress";
import { RedriveRateChart } from "./redrive-rate-chart";

/** One redrive: live while it runs, a record for ever after. */
export function RedrivePage({ id }: { id: string }) {
  const redrive = useRedrive(id);
  useLastLook(id, redrive.data?.state);
  if (redrive.isPending) return <RedriveSkeleton />;
  if (redrive.data) {
    return (
      <>
        {redrive.isError ? <ErrorPanel error={redrive.error} inline onRetry={() => redrive.refetch()} /> : null}
        <Loaded redrive={redrive.data} />
      </>
    );
  }
  if (redrive.error instanceof ApiError && redrive.error.code === "unknown-redrive") {
    return (
      <EmptyState title="There is no such redrive" action={<LinkButton href="/redrives">All redrives</LinkButton>}>
        The address may have been cut off. Redrives are never deleted.
      </EmptyState>
    );
  }
  return <ErrorPanel error={redrive.error} onRetry={() => redrive.refetch()} />;
}

function Loaded({ redrive }: { redrive: RedriveOut }) {
  const live = !isFinal(redrive.state);
  const sends = redrive.mode === "deliver";
  return (
    <>
      <RedriveHeader redrive={redrive} />
      <div className="grid gap-3 px-3 pb-4 lg:grid-cols-[1fr_20rem]">
        <div className="grid min-w-0 content-start gap-3">
          <RedriveProgress redrive={redrive} />
          {sends ? <RedriveRateChart redrive={redrive} live={live} /> : null}
          <RedriveCauses redrive={redrive} live={live} />
          <RedriveItems redrive={redrive} live={live} />
        </div>
        {/* On a phone the controls come first: they are what somebody opened this page for at 3 a.m. */}
        <div className="order-first grid min-w-0 content-start gap-3 lg:order-none">
          {live && sends ? <RedrivePace redrive={redrive} /> : null}
          <RedriveFacts redrive={redrive} />
        </div>
      </div>
    </>
  );
}

function RedriveSkeleton() {
  return (
    <div role="status" aria-label="Loading" className="grid gap-3 p-3">
      <Skeleton className="h-6! w-72" />
      <Panel bodyClassName="grid gap-3 p-3">
        <Skeleton className="h-2!" />
        <Skeleton className="w-2/3" />
      </Panel>
      <Panel bodyClassName="p-3">
        <Skeleton className="h-48!" />
      </Panel>
    </div>
  );
}
