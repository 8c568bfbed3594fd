"use client";

import Link from "next/link";
import { useRouter } from "next/navigation";
import type { ReactNode } from "react";
import { connectCommands } from "@/components/observe/overview/connect-commands";
import { FlowPanel } from "@/components/observe/overview/flow-panel";
import { Command } from "@/components/observe/overview/nothing-parked";
import { TopErrors } from "@/components/observe/overview/top-errors";
import { SchemasPanel } from "@/components/repair/schemas/schemas-panel";
import { SourceContractPanel } from "@/components/sources/contracts/source-contract-panel";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { Panel } from "@/components/ui/panel";
import { PlainSecrets } from "@/components/ui/plain-secrets";
import { Shape } from "@/components/ui/shape";
import { CardSkeletons } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { ApiError } from "@/lib/platform/api/api-error.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { eventsHref, filterHref } from "@/lib/selection/filter/filter-read.browser";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import { useKinds, useSource } from "@/lib/sources/sources.browser";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { configFacts, mappingFacts } from "./config-facts";
import { ConsumersPanel } from "./consumers-panel";
import { SendsPanel } from "./sends-panel";
import { useSourceActions } from "./source-actions";
import { SourceNumbers } from "./source-numbers";
import { SourceBadge, SourceTrouble } from "./source-status";

/** The charts of the page show this long. */
const WINDOW = "-24h";

export function SourcePage({ name }: { name: string }) {
  const source = useSource(name);
  const kinds = useKinds();
  if (source.data) {
    const kind = kinds.data?.items.find((one) => one.kind === source.data.kind) ?? null;
    return (
      <>
        <ReadError read={source} stale />
        <Loaded source={source.data} kind={kind} />
      </>
    );
  }
  return (
    <>
      <PageHeader title={<span className="wrap-anywhere">{name}</span>} />
      {source.isPending ? <CardSkeletons body="h-12!" /> : null}
      {source.error instanceof ApiError && source.error.code === "unknown-source" ? (
        <EmptyState title="Source not found" action={<LinkButton href="/sources">All sources</LinkButton>}>
          It was deleted, or the name is misspelled.
        </EmptyState>
      ) : source.isError ? (
        <ErrorPanel error={source.error} onRetry={() => source.refetch()} />
      ) : null}
    </>
  );
}

function Loaded({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  const router = useRouter();
  const { buttons, results } = useSourceActions(source, kind, { onDeleted: () => router.push("/sources") });
  const reads = kind?.capabilities.reads ?? true;
  const filter = { source: [source.name], from: WINDOW };
  return (
    <>
      <PageHeader
        title={<span className="wrap-anywhere">{source.name}</span>}
        meta={<SourceBadge source={source} kind={kind} />}
        actions={buttons}
      />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3 px-3 pb-4 lg:grid-cols-[minmax(0,1fr)_24rem] lg:items-start">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          {source.events === 0 && source.mode !== "stopped" ? <FirstEvent source={source} kind={kind} /> : null}
          <Panel bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-3 p-3">
            <SourceNumbers source={source} reads={reads} />
            <SourceTrouble source={source} />
            {results}
          </Panel>
          {reads ? <ConsumersPanel source={source} /> : null}
          <SourceContractPanel source={source} />
          <FlowPanel filter={filter} />
          <TopErrors filter={filter} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
          <Events name={source.name} />
          <Settings source={source} kind={kind} />
          <SendsPanel source={source} kind={kind} />
          <SchemasPanel source={source.name} />
          <MappingPanel source={source} kind={kind} />
        </div>
      </div>
    </>
  );
}

/** The next step of a new source. The page reads the source again every two seconds, and this is gone with its first event. */
function FirstEvent({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  const [command] = kind?.capabilities.reads ? [] : connectCommands(window.location.origin, source.name, null);
  return (
    <Panel title="Next" bodyClassName="grid grid-cols-[minmax(0,1fr)] gap-2 p-3">
      <p role="status" className="flex items-center gap-1.5">
        <Shape name="ring" className="shrink-0 text-pending" />
        Waiting for the first event…
      </p>
      <p className="text-muted">
        {command
          ? "Let a service park a dead letter, or park one by hand. This page shows it when it arrives. Probe checks whether redrives would reach their URL."
          : "This page shows the first dead letter when a worker has read it. Probe checks the connection."}
      </p>
      {command ? <Command {...command} /> : null}
    </Panel>
  );
}

function Events({ name }: { name: string }) {
  const links = [
    ["All events", eventsHref({ source: [name] })],
    ["Waiting to be redriven", eventsHref({ source: [name], status: ["PENDING"] })],
    ["Bounced after a redrive", eventsHref({ source: [name], status: ["BOUNCED"] })],
    ["Groups", filterHref("/groups", { source: [name] })],
    ["Admission rules", `/admission?source=${encodeURIComponent(name)}`],
    ["Change history", `/audit?subjectKind=source&subjectId=${encodeURIComponent(name)}`],
  ] as const;
  return (
    <Panel title="Events" bodyClassName="p-3">
      <ul className="grid">
        {links.map(([words, href]) => (
          <li key={words}>
            <Link href={href} className="inline-block min-h-6 text-accent hover:underline">
              {words}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Facts({ facts, empty }: { facts: { name: string; value: ReactNode }[]; empty?: string }) {
  if (facts.length === 0) return <p className="text-muted">{empty}</p>;
  return (
    <dl className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)] gap-x-3 gap-y-1.5">
      {facts.map(({ name, value }) => (
        <div key={name} className="contents">
          <dt className="wrap-anywhere text-muted">{name}</dt>
          <dd className="line-clamp-4 font-mono text-sm leading-5 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function limitFacts({ stormPerMinute, knownDays }: SourceOut): { name: string; value: string }[] {
  const known = {
    name: "Repeats deduplicated for",
    value: knownDays === null ? "no limit" : `${formatNumber(knownDays)} days`,
  };
  if (stormPerMinute === null) return [known];
  return [{ name: "Storm limit", value: `${formatNumber(stormPerMinute)} per minute and group` }, known];
}

/** Addresses of Kibana and Grafana have a thousand characters; the form has all of them. */
const LINK_SHOWN = 160;

function linkFacts({ links }: SourceOut): { name: string; value: string }[] {
  return links.map(({ label, url }) => ({
    name: label,
    value: url.length > LINK_SHOWN ? `${url.slice(0, LINK_SHOWN - 1)}…` : url,
  }));
}

function Settings({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  return (
    <Panel title="Settings" bodyClassName="grid gap-3 p-3">
      {kind ? <p className="text-muted">{kind.about}</p> : null}
      <Facts
        facts={[...configFacts(source, kind?.fields ?? []), ...limitFacts(source), ...linkFacts(source)]}
        empty="All settings use their defaults."
      />
      <PlainSecrets places={source.plainSecrets} />
      <p className="text-sm text-faint">
        created <TimeAgo at={source.createdAt} />, changed <TimeAgo at={source.updatedAt} />
        {kind ? (
          <>
            ,{" "}
            <TextLink href={`/docs/${kind.docs}`} className="underline">
              documentation
            </TextLink>
          </>
        ) : null}
      </p>
    </Panel>
  );
}

function MappingPanel({ source, kind }: { source: SourceOut; kind: KindOut | null }) {
  return (
    <Panel title="Mapping" bodyClassName="p-3">
      <Facts
        facts={mappingFacts(source, kind?.fields ?? [])}
        empty="Values are read from the standard headers and fields. Edit the source to use others."
      />
    </Panel>
  );
}
