import { Suspense } from "react";
import { StopButton } from "@/components/shell/stop/stop-button";
import { ActorButton } from "./actor-button";
import { AlertBell } from "./alert-bell";
import { SearchBox } from "./search-box";
import { ThemeToggle } from "./theme-toggle";
import { TimeRange } from "./time-range";
import { ZoneToggle } from "./zone-toggle";

export function TopBar() {
  return (
    <header className="flex h-12 min-w-0 items-center gap-2 border-b border-line bg-canvas px-2 sm:px-3">
      {/* Both parts read the address, which a prerendered page does not know. */}
      <Suspense fallback={<div className="h-8 flex-1 rounded-md border border-control bg-surface sm:max-w-160" />}>
        <SearchBox />
      </Suspense>
      <div className="ml-auto flex shrink-0 items-center gap-0.5 sm:gap-1">
        <Suspense fallback={null}>
          <TimeRange />
        </Suspense>
        <AlertBell />
        <ZoneToggle />
        <ActorButton />
        <ThemeToggle />
        <StopButton />
      </div>
    </header>
  );
}
