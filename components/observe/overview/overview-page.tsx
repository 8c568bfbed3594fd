"use client";

import type { ReactNode } from "react";
import { Button, LinkButton } from "@/components/ui/button";
import { ErrorPanel } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { useStats } from "@/lib/observe/stats/stats.browser";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { type FilterState, useEventFilter } from "@/lib/selection/filter/filter-url.browser";
import { AgePanel } from "./age-panel";
import { ControlsInForce } from "./controls-in-force";
import { DifferencesPanel } from "./differences-panel";
import { FilteredBy } from "./filtered-by";
import { FiringNow } from "./firing-now";
import { FlowPanel } from "./flow-panel";
import { NothingParked } from "./nothing-parked";
import { chartable, isRestricted, windowed, windowOf } from "./parked-filter";
import { RunningRedrives } from "./running-redrives";
import { SizePanel } from "./size-panel";
import { Tiles } from "./tiles";
import { TopErrors } from "./top-errors";

export function OverviewPage() {
  const { filter, fault, setFilter, patch } = useEventFilter();
  if (filter === null) {
    return (
      <>
        <PageHeader title="Overview" />
        <ErrorPanel error={new ApiError(fault.code, fault.message, { fields: fault.fields })} />
        <div className="px-4">
          <LinkButton href="/">Overview without a filter</LinkButton>
        </div>
      </>
    );
  }
  const { shown, unknown } = chartable(filter);
  return (
    <Overview filter={shown} setFilter={setFilter} patch={patch}>
      {unknown.length > 0 ? <NotNarrowed filter={filter} names={unknown} /> : null}
    </Overview>
  );
}

/** The filter in the address has names that charts cannot restrict by. */
function NotNarrowed({ filter, names }: { filter: EventFilter; names: string[] }) {
  return (
    <p className="mx-3 mb-3 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-md border border-l-2 border-warning px-3 py-2">
      <span>Charts cannot be filtered by {names.join(", ")}: they include more events than the filter.</span>
      <LinkButton size="sm" href={eventsHref(filter)}>
        The events that match
      </LinkButton>
    </p>
  );
}

type Props = { filter: EventFilter; children?: ReactNode } & Pick<FilterState, "setFilter" | "patch">;

function Overview({ filter, setFilter, patch, children }: Props) {
  const shown = windowed(filter);
  const size = useStats("size", shown);
  const age = useStats("age", shown);
  const restricted = isRestricted(filter);
  const nothing = size.data?.now === 0;
  const hadSome = size.data?.buckets.some((bucket) => bucket.total > 0) ?? true;
  return (
    <>
      <PageHeader title="Overview" />
      <FiringNow />
      <FilteredBy filter={filter} onFilter={setFilter} />
      {children}
      {nothing && !restricted ? <NothingParked /> : null}
      {/* The window stays: it does not hide parked events. */}
      {nothing && restricted ? <HiddenByFilter onClear={() => setFilter(windowOf(filter))} /> : null}
      {/* Events parked and redriven within one bucket leave no area, but their success still counts. */}
      {nothing && !hadSome && restricted ? (
        <div className="px-3 pb-4">
          <Tiles filter={filter} age={age} />
        </div>
      ) : null}
      {nothing && !hadSome ? null : (
        <div className="grid gap-3 px-3 pb-4 lg:grid-cols-[minmax(0,2fr)_minmax(18rem,1fr)]">
          <DifferencesPanel filter={shown} className="lg:col-span-2" />
          <div className="min-w-0 lg:col-span-2">
            <Tiles filter={filter} age={age} />
          </div>
          <div className="grid min-w-0 content-start gap-3 lg:grid-cols-2">
            <SizePanel
              className="lg:col-span-2"
              filter={shown}
              size={size}
              onRetry={() => size.refetch()}
              onZoom={patch}
            />
            <AgePanel filter={shown} age={age} onRetry={() => age.refetch()} />
            <FlowPanel filter={shown} />
          </div>
          <div className="grid min-w-0 content-start gap-3">
            <RunningRedrives />
            <ControlsInForce />
            <TopErrors filter={shown} />
          </div>
        </div>
      )}
    </>
  );
}

function HiddenByFilter({ onClear }: { onClear: () => void }) {
  return (
    <section className="mx-3 mb-3 flex flex-wrap items-center gap-3 rounded-lg border border-line px-4 py-4">
      <div>
        <h2 className="font-medium">Nothing parked matches this filter</h2>
        <p className="text-muted">Other events may be parked.</p>
      </div>
      <Button onClick={onClear}>Clear the filter</Button>
    </section>
  );
}
