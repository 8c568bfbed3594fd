import { headers } from "next/headers";
import { redirect } from "next/navigation";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { type Deps, deps } from "./deps";
import { pageViewer } from "./viewer";

/** Path and query as they were asked for; set by the web server in front of the framework, see scripts/web-server.ts. */
const TARGET_HEADER = "x-parkade-target";

/** What a page has that is rendered with data of the store. */
export type PageCall = {
  deps: Deps;
  viewer: Viewer;
  /** The headers that the page was asked for with. */
  sent: { get(name: string): string | null };
  /** Epoch milliseconds, of the database's clock. */
  nowMs: number;
};

/**
 * The only way of a page to the store. Throws DomainError `not-local` as every handler does; whoever has not signed in where one
 * must is sent to do so, and comes back; likewise whoever must add a second factor.
 */
export async function pageCall(): Promise<PageCall> {
  const sent = await headers();
  const own = deps();
  const viewer = await pageViewer(sent, own).catch((error: unknown) => {
    if (error instanceof DomainError && error.code === "unauthenticated")
      redirect(`/sign-in?to=${encodeURIComponent(sent.get(TARGET_HEADER) ?? "/")}`);
    throw error;
  });
  if (viewer.secondFactorNeeded)
    redirect(`/sign-in/second-factor?to=${encodeURIComponent(sent.get(TARGET_HEADER) ?? "/")}`);
  await own.clock.measured();
  return { deps: own, viewer, sent, nowMs: own.clock.wallMs() };
}
