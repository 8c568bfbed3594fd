import type { ReactNode } from "react";
import { RunningOperations } from "@/components/events/bulk/running-operations";
import { WrongCodesStrip } from "@/components/guard/account/wrong-codes-strip";
import { HeldRedrives } from "@/components/redrive/one-click/held-redrives";
import { FollowedRedrives } from "@/components/redrive/results/followed-redrives";
import { StopBand } from "@/components/shell/stop/stop-band";
import { TopBar } from "@/components/shell/top-bar/top-bar";
import { GlobalKeys } from "./global-keys";
import { IntakeBand } from "./intake-band";
import { OfflineStrip } from "./offline-strip";
import { PageTabs } from "./page-tabs";
import { BottomBar, Rail } from "./rail";
import { FrameGrid, SignedInOnly } from "./signed-in-only";
import { StatusStrip } from "./status-strip";
import { TipLayer } from "./tip-layer";
import { LazyToaster } from "./toaster";

/**
 * The frame around every page. The page scrolls inside `main`, so that the status strip stays visible; on a phone the
 * navigation is at the bottom.
 */
export function Frame({ children }: { children: ReactNode }) {
  return (
    <>
      <a
        href="#page"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-[70] focus:rounded-md focus:bg-raised focus:px-3 focus:py-2 focus:shadow-pop"
      >
        Skip to content
      </a>
      <FrameGrid>
        <SignedInOnly>
          <Rail />
          <TopBar />
        </SignedInOnly>
        <div className="flex min-h-0 min-w-0 flex-col">
          <SignedInOnly>
            <OfflineStrip />
            <WrongCodesStrip />
            <StopBand />
            <IntakeBand />
            <PageTabs />
          </SignedInOnly>
          <main
            id="page"
            tabIndex={-1}
            className="min-h-0 min-w-0 flex-1 overflow-y-auto bg-surface outline-none [[data-offline]~&]:grayscale"
          >
            {children}
          </main>
          <SignedInOnly>
            <HeldRedrives />
            <FollowedRedrives />
            <RunningOperations />
          </SignedInOnly>
        </div>
        <SignedInOnly>
          <StatusStrip />
          <BottomBar />
        </SignedInOnly>
      </FrameGrid>
      <SignedInOnly>
        <GlobalKeys />
      </SignedInOnly>
      <TipLayer />
      <LazyToaster />
    </>
  );
}
