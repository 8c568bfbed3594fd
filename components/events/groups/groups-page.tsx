"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { FilteredBy } from "@/components/observe/overview/filtered-by";
import { redriveAtOnce } from "@/components/redrive/one-click/one-click";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { GroupOut } from "@/lib/events/events.shapes";
import type { EventFilter } from "@/lib/events/filter/event-filter.shapes";
import { useEventFilter } from "@/lib/events/filter/filter-url.browser";
import { useGroups } from "@/lib/events/groups/groups.browser";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { GroupCard } from "./group-card";
import { eachOnce, groupFilter } from "./group-filter";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const BulkDialog = lazily(() => import("@/components/events/bulk/bulk-dialog"), "BulkDialog");

export type GroupAct =
  | { kind: "redrive" | "verify" | "ignore"; group: GroupOut }
  /** `count`: the number on its button. */
  | { kind: "at-once"; group: GroupOut; count: number };

/** Groups of events that failed in the same way. */
export function GroupsPage() {
  const { filter, fault, setFilter } = useEventFilter();
  if (filter === null) {
    return (
      <>
        <PageHeader title="Groups" />
        <ErrorPanel error={new ApiError(fault.code, fault.message, { fields: fault.fields })} />
        <div className="px-4">
          <LinkButton href="/groups">All groups</LinkButton>
        </div>
      </>
    );
  }
  return <Groups filter={filter} onFilter={setFilter} />;
}

function Groups({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const groups = useGroups(filter);
  const [act, setAct] = useState<Exclude<GroupAct, { kind: "at-once" }> | null>(null);
  const items = eachOnce(groups.data?.pages.flatMap((page) => page.items) ?? []);
  const close = () => setAct(null);
  const client = useQueryClient();
  const router = useRouter();
  const start = (wanted: GroupAct) => {
    if (wanted.kind !== "at-once") return setAct(wanted);
    const { group, count } = wanted;
    void redriveAtOnce(client, { filter: groupFilter(filter, group, "PENDING") }, count, {
      open: (href) => router.push(href),
      onAsk: () => setAct({ kind: "redrive", group }),
    });
  };
  return (
    <>
      <PageHeader
        title="Groups"
        meta={
          groups.data
            ? `${formatNumber(items.length)}${groups.hasNextPage ? "+" : ""} ${items.length === 1 ? "group" : "groups"} of events that failed the same way`
            : undefined
        }
      />
      <FilteredBy filter={filter} onFilter={onFilter} />
      <ReadError read={groups} stale={items.length > 0} />
      {groups.isPending ? <SkeletonRows rows={10} columns={["flex-1", "w-24", "w-24", "w-32"]} /> : null}
      {groups.isSuccess && items.length === 0 ? <NoGroups filter={filter} onFilter={onFilter} /> : null}
      <ul className="border-t border-line empty:hidden">
        {items.map((group) => (
          <GroupCard key={group.fingerprint} group={group} filter={filter} onAct={start} />
        ))}
      </ul>
      <NextPageButton read={groups}>More groups</NextPageButton>
      {act && act.kind !== "ignore" ? (
        <RedriveDialog
          selection={{ filter: groupFilter(filter, act.group, "PENDING") }}
          total={act.group.counts.PENDING}
          initialMode={act.kind === "verify" ? "verify" : "deliver"}
          onClose={close}
        />
      ) : null}
      {act?.kind === "ignore" ? (
        <BulkDialog
          kind="ignore"
          selection={{ filter: groupFilter(filter, act.group, "PENDING") }}
          total={act.group.counts.PENDING}
          onClose={close}
        />
      ) : null}
    </>
  );
}

function NoGroups({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  if (Object.keys(filter).length > 0) {
    return (
      <EmptyState title="No group matches" action={<Button onClick={() => onFilter({})}>Show all groups</Button>}>
        The filter hides all there are.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No group yet" action={<LinkButton href="/sources">Connect a source</LinkButton>}>
      Parked events with the same error code, exception, first own stack frame and message form a group.
    </EmptyState>
  );
}
