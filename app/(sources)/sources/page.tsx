import type { Metadata } from "next";
import { firstRead } from "@/app/_server/first-read";
import { listKinds } from "@/app/_server/sources/kinds";
import { SourcesPage } from "@/components/sources/sources-page";
import { KINDS_PATH, SOURCES_PATH } from "@/lib/platform/api/first-reads.pure";
import { namePageQuery } from "@/lib/platform/api/id-page.shapes";
import { noQuery } from "@/lib/platform/api/query.shapes";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";
import { listSources } from "@/lib/sources/sources.read";

export const metadata: Metadata = { title: "Sources" };

export default async function Page() {
  const reads = await Promise.all([
    firstRead({
      path: SOURCES_PATH,
      query: namePageQuery,
      read: ({ deps, viewer }, query) => listSources(deps, viewer, query),
    }),
    firstRead({ path: KINDS_PATH, query: noQuery, read: async ({ viewer }) => listKinds(viewer) }),
  ]);
  return (
    <FirstReads reads={reads}>
      <SourcesPage />
    </FirstReads>
  );
}
