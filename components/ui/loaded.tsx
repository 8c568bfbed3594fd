import { type ComponentProps, isValidElement, type ReactElement, type ReactNode } from "react";
import { ReadError } from "./error-panel";
import { SkeletonRows } from "./skeleton";

type Read<Data> = ComponentProps<typeof ReadError>["read"] & { data: Data | undefined; isPending: boolean };

type Items<Item> = { items: readonly Item[] };

/** A list that is read at once or page by page. */
export type ListRead<Item> = Read<Items<Item> | { pages: readonly Items<Item>[] }> & { isSuccess: boolean };

/** What was read of a list so far. */
export function itemsOf<Item>({ data }: Pick<ListRead<Item>, "data">): readonly Item[] {
  if (data === undefined) return [];
  return "pages" in data ? data.pages.flatMap(({ items }) => items) : data.items;
}

/** `loading`: a skeleton of rows, or one of another shape. */
type StateProps<R> = { read: R; loading: ComponentProps<typeof SkeletonRows> | ReactElement };

/** Shown before the data of a read, or instead of it: its skeleton, its error. Data of an earlier read stays below the error. */
export function ReadState({
  read,
  loading,
  stale = read.data !== undefined,
}: StateProps<Read<unknown>> & { stale?: boolean }) {
  return (
    <>
      <ReadError read={read} stale={stale} />
      {!read.isPending ? null : isValidElement(loading) ? loading : <SkeletonRows {...loading} />}
    </>
  );
}

/** Shown before the items of a list, or instead of them: its skeleton, its error, or why there are none. */
export function ListState<Item>({ none, ...state }: StateProps<ListRead<Item>> & { none: ReactNode }) {
  const isEmpty = itemsOf(state.read).length === 0;
  return (
    <>
      <ReadState {...state} stale={!isEmpty} />
      {state.read.isSuccess && isEmpty ? none : null}
    </>
  );
}
