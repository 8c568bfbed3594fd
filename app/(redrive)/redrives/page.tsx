import type { Metadata } from "next";
import { firstRead } from "@/app/_server/first-read";
import { RedrivesPage } from "@/components/redrive/list/redrive-list";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";
import { redriveListPath, redriveListStateOf } from "@/lib/redrive/list/redrive-list.browser";
import { listRedrives } from "@/lib/redrive/list/redrives.read";
import { redrivesQuery } from "@/lib/redrive/redrives.shapes";

export const metadata: Metadata = { title: "Redrives" };

export default async function Page() {
  const redrives = await firstRead({
    path: (params) => redriveListPath(redriveListStateOf(params.get("state"), params.get("waitsFor"))),
    query: redrivesQuery,
    read: ({ deps, viewer, nowMs }, query) => listRedrives(deps.db, viewer, query, nowMs),
  });
  return (
    <FirstReads reads={[redrives]}>
      <RedrivesPage />
    </FirstReads>
  );
}
