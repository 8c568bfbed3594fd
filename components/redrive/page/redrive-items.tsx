"use client";

import Link from "next/link";
import { Fragment, useState } from "react";
import { Findings } from "@/components/events/findings";
import { LongText } from "@/components/redrive/long-text";
import { Button, NextPageButton } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { Panel } from "@/components/ui/panel";
import { ShortId } from "@/components/ui/short-id";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Head, Table, Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import { Toggles } from "@/components/ui/toggles";
import { stopText } from "@/lib/events/detail/history-text.pure";
import { controlCause } from "@/lib/order/controls/control.pure";
import { formatNumber, plural, shortenId } from "@/lib/platform/plain/format.pure";
import type { RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";
import { itemsExportHref, useRedriveItems } from "@/lib/redrive/redrives.browser";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { eventsHref } from "@/lib/selection/filter/filter-read.browser";
import { usePageParam } from "@/lib/selection/filter/filter-url.browser";
import { type OutcomeTab, outcomeTabs } from "./cause-words";

export function RedriveItems({ redrive, live, className }: { redrive: RedriveOut; live: boolean; className?: string }) {
  const [param, setParam] = usePageParam("tab");
  const tabs = outcomeTabs(redrive);
  const chosen = tabs.find((tab) => tab.name === param) ?? firstLook(tabs);
  const items = useRedriveItems(redrive.id, chosen.outcome, live);
  const rows = items.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel
      className={className}
      title="Events"
      meta={`${formatNumber(redrive.total)} in this redrive`}
      actions={
        <a
          className="px-1 text-sm text-accent hover:underline"
          href={itemsExportHref(redrive.id, chosen.outcome)}
          download
        >
          Export these
        </a>
      }
    >
      <Toggles
        label="Outcome"
        className="flex-wrap gap-1 border-b border-line px-3 pb-2"
        options={tabs.map(({ name, label, count }) => ({
          value: name,
          label: (
            <>
              {label} <span className="font-mono">{formatNumber(count)}</span>
            </>
          ),
        }))}
        value={chosen.name}
        onChange={setParam}
      />
      <ReadError read={items} stale={rows.length > 0} />
      {items.isPending ? <SkeletonRows rows={5} columns={["w-28", "w-28", "flex-1", "w-16"]} /> : null}
      {items.isSuccess && rows.length === 0 ? (
        <p className="px-3 py-6 text-center text-muted">No events here: {chosen.label}.</p>
      ) : null}
      {rows.length > 0 ? <Items rows={rows} /> : null}
      <NextPageButton read={items}>More events</NextPageButton>
    </Panel>
  );
}

/** Outcomes that the result of the item does not say. */
const OUTCOME_FIRST: readonly string[] = ["deduplicated", "bounced"];

/** Failures first, then successes. */
function firstLook(tabs: OutcomeTab[]): OutcomeTab {
  const order = ["failed", "bounced", "refused"] as const;
  const troubled = order.map((name) => tabs.find((tab) => tab.name === name)).find((tab) => tab && tab.count > 0);
  return troubled ?? tabs.find((tab) => tab.count > 0) ?? tabs[0]!;
}

function Items({ rows }: { rows: RedriveItemOut[] }) {
  return (
    <Table>
      <Head
        columns={["event", "aggregate", "error code", "result", { numeric: "tries" }, "when", { unseen: "Findings" }]}
      />
      <tbody>
        {rows.map((item) => (
          <ItemRow key={item.id} item={item} />
        ))}
      </tbody>
    </Table>
  );
}

function ItemRow({ item }: { item: RedriveItemOut }) {
  const [open, setOpen] = useState(false);
  return (
    <Fragment>
      <Tr>
        <Td className="whitespace-nowrap">
          <Link
            href={`/events/${item.id}`}
            className="font-mono text-sm text-accent hover:underline"
            data-tip={item.eventId}
          >
            {shortenId(item.eventId)}
          </Link>
        </Td>
        <Td className="whitespace-nowrap">
          {item.aggregateId === null ? (
            <span className="text-faint">none</span>
          ) : (
            <Link
              href={eventsHref({ aggregateId: [item.aggregateId] })}
              className="hover:underline"
              data-tip={item.aggregateId}
            >
              {shortenId(item.aggregateId, 14, 6)}
              {item.version === null ? null : <span className="text-muted"> v{item.version}</span>}
            </Link>
          )}
        </Td>
        <Td className="max-w-48 truncate font-mono text-sm">{item.errorCode}</Td>
        <Td className="max-w-[28rem]">
          <span className="line-clamp-1 wrap-anywhere">
            {OUTCOME_FIRST.includes(item.outcome) ? `${item.outcome}, ` : null}
            {item.result ?? item.state}
            {item.detail ? <span className="text-muted"> {item.detail}</span> : null}
          </span>
        </Td>
        <Td numeric className="font-mono">
          {item.attempts}
        </Td>
        <Td>{item.finishedAt ? <TimeAgo at={item.finishedAt} /> : <span className="text-faint">not yet</span>}</Td>
        <Td className="text-right">
          <Button size="sm" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
            {findingsWords(item)}
          </Button>
        </Td>
      </Tr>
      {open ? (
        <tr>
          <td colSpan={7} className="border-b border-line bg-canvas px-3 py-2">
            <Detail item={item} />
          </td>
        </tr>
      ) : null}
    </Fragment>
  );
}

function findingsWords({ findings, outcome }: RedriveItemOut): string {
  if (findings.length === 0) return "details";
  const made = findings.filter((finding) => finding.ok !== null);
  const failed = made.filter((finding) => !finding.ok).length;
  if (failed > 0) return `${failed} of ${made.length} checks failed`;
  const warnings = findings.filter((finding) => finding.warning).length;
  if (warnings > 0) return `${made.length} checks passed, ${plural(warnings, "warning")}`;
  // A held event is refused for another event's sake, so its own checks may all pass.
  return outcome === "refused" ? `the ${made.length} other checks passed` : `${made.length} checks passed`;
}

function Detail({ item }: { item: RedriveItemOut }) {
  return (
    <div className="grid gap-2">
      <p>
        <span className="text-muted">event id </span>
        <ShortId id={item.eventId} label="event id" head={40} tail={20} />
        <span className="text-muted"> from </span>
        {item.source}
      </p>
      {item.detail ? <LongText text={item.detail} className="font-mono text-sm" /> : null}
      {item.control ? <p className="wrap-anywhere">It is {controlCause(item.control)}</p> : null}
      {item.stopped ? <p className="text-muted">Not retried: {stopText(item.stopped)}.</p> : null}
      <Findings findings={item.findings} />
    </div>
  );
}
