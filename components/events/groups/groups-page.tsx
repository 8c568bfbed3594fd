"use client";

import { useRouter } from "next/navigation";
import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { SelectionBar } from "@/components/events/list/selection-bar";
import { useListSelection } from "@/components/events/list/use-list-selection";
import { ActionButton } from "@/components/ui/action-button";
import { Button, LinkButton, NextPageButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { lazily } from "@/components/ui/lazily";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { GroupOut } from "@/lib/events/events.shapes";
import { groupOrderOf } from "@/lib/events/groups/group-address.browser";
import { useGroups } from "@/lib/events/groups/groups.browser";
import type { GroupSort } from "@/lib/events/groups/groups.shapes";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { useHotkeys } from "@/lib/platform/browser/hotkeys.browser";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { useEventFilter, usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { eachOnce, groupFilter, groupHref } from "./group-filter";
import { GroupFilters, type VerdictChoice } from "./group-filters";
import { type GroupAction, groupDomId } from "./group-row";
import { GroupTable } from "./group-table";

const RedriveDialog = lazily(() => import("@/components/redrive/dialog/redrive-dialog"), "RedriveDialog");
const MuteGroupDialog = lazily(() => import("./mute-group-dialog"), "MuteGroupDialog");

/** Groups of events that failed in the same way. The filter, the order and the verdict are in the address. */
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

function useOrder() {
  const [sortText, setSort] = usePageParam("sort");
  const [verdictText, setVerdict] = usePageParam("verdict");
  return {
    ...groupOrderOf(sortText, verdictText),
    onSort: (next: GroupSort) => setSort(next === "count" ? null : next),
    onVerdict: (next: VerdictChoice) => setVerdict(next === "all" ? null : next),
  };
}

function Groups({ filter, onFilter }: { filter: EventFilter; onFilter: (next: EventFilter) => void }) {
  const { sort, verdict, onSort, onVerdict } = useOrder();
  const groups = useGroups(filter, { sort, verdict });
  const items = useMemo(() => eachOnce(groups.data?.pages.flatMap((page) => page.items) ?? []), [groups.data]);
  const left = groups.data?.pages.at(-1)?.left ?? 0;
  const none = groups.isSuccess && items.length === 0;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <PageHeader
        title="Groups"
        meta={
          groups.data
            ? `${formatNumber(items.length)}${groups.hasNextPage ? "+" : ""} ${items.length === 1 ? "group" : "groups"} of events that failed the same way`
            : undefined
        }
      />
      <GroupFilters filter={filter} onFilter={onFilter} verdict={verdict ?? "all"} onVerdict={onVerdict} />
      <ReadError read={groups} stale={items.length > 0} />
      {left === 0 ? null : (
        <p className="px-3 pb-2 text-warning">
          {plural(left, "more group")} {left === 1 ? "was" : "were"} not evaluated: narrow the filter.
        </p>
      )}
      {groups.isPending ? <SkeletonRows rows={16} columns={["w-5", "w-32", "flex-1", "w-24", "w-16", "w-16"]} /> : null}
      {none ? (
        <NoGroups
          restricted={Object.keys(filter).length > 0 || verdict !== null}
          onAll={() => {
            onVerdict("all");
            onFilter({});
          }}
        />
      ) : null}
      {items.length === 0 ? null : (
        <GroupList
          items={items}
          {...{ filter, sort, onSort }}
          more={<NextPageButton read={groups}>More groups</NextPageButton>}
        />
      )}
    </div>
  );
}

type Act = { kind: GroupAction; groups: readonly GroupOut[] };

function GroupList(props: {
  items: readonly GroupOut[];
  filter: EventFilter;
  sort: GroupSort;
  onSort: (next: GroupSort) => void;
  more: ReactNode;
}) {
  const { items, filter, sort, onSort, more } = props;
  const router = useRouter();
  const order = useMemo(() => items.map(({ fingerprint }) => fingerprint), [items]);
  const [activeId, setActiveId] = useState<string | null>(null);
  const [act, setAct] = useState<Act | null>(null);
  const selection = useListSelection(order, setActiveId);
  const { picked } = selection;
  const open = useCallback((fingerprint: string) => router.push(groupHref(filter, { fingerprint })), [router, filter]);
  const chosen = items.filter(({ fingerprint }) => picked.kind === "ids" && picked.ids.has(fingerprint));
  const active = items.find(({ fingerprint }) => fingerprint === activeId);
  const acted = chosen.length > 0 ? chosen : active ? [active] : [];
  useGroupKeys({
    order,
    activeId,
    setActiveId,
    open,
    selection,
    onAct: (kind) => acted.length > 0 && setAct({ kind, groups: acted }),
  });
  const pending = chosen.reduce((sum, { counts }) => sum + counts.PENDING, 0);
  return (
    <>
      <div className="min-h-0 flex-1 overflow-y-auto border-t border-line">
        <GroupTable
          groups={items}
          filter={filter}
          picked={picked}
          activeId={active ? activeId : null}
          sort={sort}
          onSort={onSort}
          onToggle={selection.toggleRow}
          onToggleLoaded={selection.toggleLoaded}
          onOpen={open}
          onAct={(kind, group) => setAct({ kind, groups: [group] })}
        />
        {more}
      </div>
      {chosen.length === 0 ? null : (
        <SelectionBar
          words={`${plural(chosen.length, "group")} selected, ${formatNumber(pending)} PENDING`}
          selectAll={null}
          onClear={selection.clear}
        >
          <ActionButton
            needs="redrive"
            size="sm"
            variant="primary"
            refusal={pending === 0 ? "None of their events is PENDING" : null}
            onClick={() => setAct({ kind: "redrive", groups: chosen })}
            data-tip="Preview it and choose the lane, rate, canary and more  r"
          >
            Redrive…
          </ActionButton>
          <ActionButton needs="ignore" size="sm" onClick={() => setAct({ kind: "mute", groups: chosen })} data-tip="i">
            Mute or ignore…
          </ActionButton>
          <LinkButton size="sm" prefetch={false} href={eventsHref(groupFilter(filter, chosen))}>
            Open as events
          </LinkButton>
        </SelectionBar>
      )}
      {act === null ? null : (
        <ActDialog act={act} filter={filter} onClose={() => setAct(null)} onDone={selection.clear} />
      )}
    </>
  );
}

function ActDialog(props: { act: Act; filter: EventFilter; onClose: () => void; onDone: () => void }) {
  const { act, filter, onClose, onDone } = props;
  if (act.kind === "mute") {
    return <MuteGroupDialog groups={act.groups} filter={filter} onClose={onClose} onDone={onDone} />;
  }
  return (
    <RedriveDialog
      selection={{ filter: groupFilter(filter, act.groups, "PENDING") }}
      total={act.groups.reduce((sum, { counts }) => sum + counts.PENDING, 0)}
      onClose={onClose}
      onDone={onDone}
    />
  );
}

function useGroupKeys(options: {
  order: readonly string[];
  activeId: string | null;
  setActiveId: (id: string) => void;
  open: (id: string) => void;
  selection: ReturnType<typeof useListSelection>;
  onAct: (kind: GroupAction) => void;
}) {
  const { order, activeId, setActiveId, open, selection, onAct } = options;
  const at = useRef(-1);
  const found = activeId === null ? -1 : order.indexOf(activeId);
  // A group that left the list leaves its place to the next one.
  if (found !== -1) at.current = found;
  const move = (step: number) => {
    const next = order[Math.min(Math.max(at.current + step, 0), order.length - 1)];
    if (next === undefined) return;
    setActiveId(next);
    document.getElementById(groupDomId(next))?.scrollIntoView({ block: "nearest" });
  };
  const toggle = (range: boolean) => (activeId === null ? move(1) : selection.toggleRow(activeId, range));
  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    arrowdown: () => move(1),
    arrowup: () => move(-1),
    enter: () => {
      if (activeId !== null) open(activeId);
    },
    x: () => toggle(false),
    " ": () => toggle(false),
    "shift+x": () => toggle(true),
    r: () => onAct("redrive"),
    i: () => onAct("mute"),
    escape: selection.clear,
  });
}

function NoGroups({ restricted, onAll }: { restricted: boolean; onAll: () => void }) {
  if (restricted) {
    return (
      <EmptyState title="No group matches" action={<Button onClick={onAll}>Show all groups</Button>}>
        The filter hides every group.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No groups yet" action={<LinkButton href="/sources">Connect a source</LinkButton>}>
      Parked events with the same error code, exception, first stack frame of your code and message form a group.
    </EmptyState>
  );
}
