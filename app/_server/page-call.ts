import { headers } from "next/headers";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type Deps, deps } from "./deps";
import { pageViewer } from "./viewer";

/** What a page has that is rendered with data of the store. */
export type PageCall = {
  deps: Deps;
  viewer: Viewer;
  /** The headers that the page was asked for with. */
  sent: { get(name: string): string | null };
  /** Epoch milliseconds, of the database's clock. */
  nowMs: number;
};

/** The only way of a page to the store. Throws DomainError `not-local` as every handler does. */
export async function pageCall(): Promise<PageCall> {
  const sent = await headers();
  const own = deps();
  await own.clock.measured();
  return { deps: own, viewer: await pageViewer(sent, own), sent, nowMs: own.clock.wallMs() };
}
