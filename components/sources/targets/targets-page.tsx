"use client";

import dynamic from "next/dynamic";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ListState } from "@/components/ui/loaded";
import { PageHeader } from "@/components/ui/page-header";
import { CardSkeletons, SkeletonRows } from "@/components/ui/skeleton";
import { plural } from "@/lib/platform/plain/format.pure";
import { usePolicies, useTargets } from "@/lib/sources/targets/targets.browser";
import { ConfirmationsPanel } from "./confirmations-panel";
import { openBreakersFirst } from "./engine-view";
import { TargetCard } from "./target-card";

/** The code of the policies is large, so it is loaded after the cards. */
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
  const items = openBreakersFirst(targets.data?.items ?? []);
  return (
    <>
      <PageHeader title="Targets" meta={targets.data ? plural(items.length, "target") : undefined} />
      <ListState
        read={targets}
        loading={<CardSkeletons body="h-16!" />}
        none={
          <EmptyState title="No targets yet" action={<LinkButton href="/sources">Connect a source</LinkButton>}>
            Each source has two targets, its main lane and its slow lane, and can have more.
          </EmptyState>
        }
      />
      <ul className="grid gap-3 px-3 lg:grid-cols-2">
        {items.map((target) => (
          <TargetCard
            key={target.id}
            target={target}
            others={items.filter(({ id }) => id !== target.id).map(({ name }) => name)}
            policies={policies.data?.items}
          />
        ))}
      </ul>
      {/* Rendered after the cards above it: otherwise it would move down when the cards appear. */}
      {targets.isPending ? null : (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6 p-3 pt-6">
          <ConfirmationsPanel />
          <PolicySection policies={policies} />
        </div>
      )}
    </>
  );
}
