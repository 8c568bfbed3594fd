import type { Metadata } from "next";
import { Suspense } from "react";
import { firstPage } from "@/app/_server/first-page";
import { OverviewPage } from "@/components/observe/overview/overview-page";
import { alertsPath, runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { alertsQuery } from "@/lib/observe/alerts/alerts.shapes";
import { readDifferences } from "@/lib/observe/stats/differences.read";
import { differencesQuery } from "@/lib/observe/stats/differences.shapes";
import { firstDifferencesPath } from "@/lib/observe/stats/differences-address.browser";

export const metadata: Metadata = { title: { absolute: "Overview · Parkade" } };

export default async function Page() {
  const [firing, differences] = await Promise.all([
    firstPage({
      pathOf: () => alertsPath("firing"),
      query: alertsQuery,
      read: ({ deps, viewer }, query) => listAlerts(deps.db, viewer, query, runbookAt(deps.env.publicUrl)),
    }),
    firstPage({
      pathOf: firstDifferencesPath,
      query: differencesQuery,
      read: ({ deps, viewer, nowMs }, query) => readDifferences(deps.db, viewer, query, nowMs),
    }),
  ]);
  return (
    <Suspense>
      <OverviewPage firing={firing} differences={differences} />
    </Suspense>
  );
}
