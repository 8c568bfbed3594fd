"use client";

import type { ComponentProps, ReactNode } from "react";
import { NextPageButton } from "@/components/ui/button";
import { ReadError } from "@/components/ui/error-panel";
import { PageHeader } from "@/components/ui/page-header";
import { Select } from "@/components/ui/select";
import { SkeletonRows } from "@/components/ui/skeleton";
import { Table, Th } from "@/components/ui/table";
import { formatNumber } from "@/lib/platform/plain/format.pure";

type Read<Item> = ComponentProps<typeof ReadError>["read"] &
  ComponentProps<typeof NextPageButton>["read"] & {
    data: { pages: readonly { items: readonly Item[] }[] } | undefined;
    isPending: boolean;
  };

/** A list of bulk work, newest first: its state, its items, or why there are none. */
export function WorkList<Item>(props: {
  title: string;
  read: Read<Item>;
  states: ComponentProps<typeof Select>["options"];
  state: string;
  onState: (state: string) => void;
  /** Between the header and the items. */
  above?: ReactNode;
  children: (items: Item[]) => ReactNode;
  none: ReactNode;
  older: string;
}) {
  const { read } = props;
  const items = read.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <PageHeader
        title={props.title}
        meta={items.length > 0 ? `${formatNumber(items.length)}${read.hasNextPage ? "+" : ""} shown` : undefined}
        actions={
          <Select
            aria-label="State"
            options={props.states}
            value={props.state}
            onChange={(event) => props.onState(event.target.value)}
          />
        }
      />
      {props.above}
      <ReadError read={read} stale={items.length > 0} />
      {read.isPending ? (
        <SkeletonRows rows={8} columns={["w-24", "flex-1", "w-40", "w-24"]} />
      ) : items.length > 0 ? (
        props.children(items)
      ) : read.isError ? null : (
        props.none
      )}
      <NextPageButton read={read}>{props.older}</NextPageButton>
    </>
  );
}

/** The items as rows of a table, and on a phone as cards. */
export function WorkItems<Item extends { id: string }>(props: {
  /** The columns between what it does and its pace. */
  columns: ReactNode;
  items: Item[];
  row: (item: Item) => ReactNode;
  card: (item: Item) => ReactNode;
}) {
  return (
    <>
      <div className="hidden md:block">
        <Table>
          <thead>
            <tr>
              <Th>state</Th>
              <Th>what</Th>
              {props.columns}
              <Th>pace</Th>
              <Th>by</Th>
              <Th>when</Th>
            </tr>
          </thead>
          <tbody>{props.items.map(props.row)}</tbody>
        </Table>
      </div>
      <ul className="grid gap-2 px-3 py-3 md:hidden">{props.items.map(props.card)}</ul>
    </>
  );
}
