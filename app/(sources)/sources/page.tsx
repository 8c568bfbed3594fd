import type { Metadata } from "next";
import { firstRead } from "@/app/_server/first-read";
import { SourcesPage } from "@/components/sources/sources-page";
import { SOURCES_PATH } from "@/lib/platform/api/first-reads.pure";
import { namePageQuery } from "@/lib/platform/api/id-page.shapes";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";
import { listSources } from "@/lib/sources/sources.read";

export const metadata: Metadata = { title: "Sources" };

export default async function Page() {
  const sources = await firstRead({
    path: SOURCES_PATH,
    query: namePageQuery,
    read: ({ deps, viewer }, query) => listSources(deps, viewer, query),
  });
  return (
    <FirstReads reads={[sources]}>
      <SourcesPage />
    </FirstReads>
  );
}
