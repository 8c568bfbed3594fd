"use client";

import dynamic from "next/dynamic";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Table, Th } from "@/components/ui/table";
import { useStatus } from "@/lib/observe/health/status.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { usePolicies, useTargets } from "@/lib/sources/targets/targets.browser";
import { ConfirmationsPanel } from "./confirmations-panel";
import { neediestFirst } from "./engine-view";
import { TARGET_NUMBERS } from "./target-numbers";
import { TargetRow } from "./target-row";

/** The code of the policies is large, so it is loaded after the table. */
const PolicySection = dynamic(
  () => import("@/components/sources/policies/policy-section").then((module) => module.PolicySection),
  {
    ssr: false,
    loading: () => <SkeletonRows rows={3} columns={["w-28", "flex-1", "w-24"]} />,
  },
);

export function TargetsPage() {
  const targets = useTargets();
  const policies = usePolicies();
  const stopped = new Set(useStatus().data?.stops?.map(({ target }) => target));
  const items = neediestFirst(targets.data?.items ?? [], stopped);
  return (
    <>
      <PageHeader title="Targets" meta={targets.data ? plural(items.length, "target") : undefined} />
      <ListState
        read={targets}
        loading={<SkeletonRows rows={6} columns={["w-48", "w-32", "flex-1", "w-56"]} />}
        none={
          <EmptyState title="No targets yet" action={<LinkButton href="/sources">Connect a source</LinkButton>}>
            Each source has two targets, its main lane and its slow lane, and can have more.
          </EmptyState>
        }
      />
      {items.length > 0 ? (
        <Table>
          <thead>
            <tr>
              <Th>target</Th>
              <Th className="max-lg:hidden">source</Th>
              <Th>breaker</Th>
              {TARGET_NUMBERS.map(({ name, shown }) => (
                <Th key={name} numeric className={shown.column}>
                  {name}
                </Th>
              ))}
              <Th className="max-sm:hidden">
                <span className="sr-only">Actions</span>
              </Th>
            </tr>
          </thead>
          {items.map((target) => (
            <TargetRow
              key={target.id}
              target={target}
              stopped={stopped.has(target.name)}
              others={items.filter(({ id }) => id !== target.id).map(({ name }) => name)}
              policies={policies.data?.items}
            />
          ))}
        </Table>
      ) : null}
      {/* Rendered after the table above it: otherwise it would move down when the table appears. */}
      {targets.isPending ? null : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6 p-3 pt-6">
          <ConfirmationsPanel />
          <PolicySection policies={policies} />
        </div>
      )}
    </>
  );
}
