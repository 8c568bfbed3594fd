import type { Metadata } from "next";
import { Suspense } from "react";
import { firstRead } from "@/app/_server/first-read";
import { OverviewPage } from "@/components/observe/overview/overview-page";
import { alertsPath, runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { alertsQuery } from "@/lib/observe/alerts/alerts.shapes";
import { readDifferences } from "@/lib/observe/stats/differences.read";
import { differencesQuery } from "@/lib/observe/stats/differences.shapes";
import { firstDifferencesPath } from "@/lib/observe/stats/differences-address.browser";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";

export const metadata: Metadata = { title: { absolute: "Overview · Parkade" } };

export default async function Page() {
  // They decide the height of everything below them.
  const reads = await Promise.all([
    firstRead({
      path: alertsPath("firing"),
      query: alertsQuery,
      read: ({ deps, viewer }, query) => listAlerts(deps.db, viewer, query, runbookAt(deps.env.publicUrl)),
    }),
    firstRead({
      path: firstDifferencesPath,
      query: differencesQuery,
      read: ({ deps, viewer, nowMs }, query) => readDifferences(deps.db, viewer, query, nowMs),
    }),
  ]);
  return (
    <FirstReads reads={reads}>
      <Suspense>
        <OverviewPage />
      </Suspense>
    </FirstReads>
  );
}
