import type { Metadata } from "next";
import { Suspense } from "react";
import { firstRead } from "@/app/_server/first-read";
import { AlertsPage } from "@/components/observe/alerts/alerts-page";
import { alertsPath, runbookAt } from "@/lib/observe/alerts/alert-paths.pure";
import { listAlerts } from "@/lib/observe/alerts/alerts.read";
import { alertsQuery } from "@/lib/observe/alerts/alerts.shapes";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";

export const metadata: Metadata = { title: "Alerts" };

export default async function Page() {
  const firing = await firstRead({
    path: alertsPath("firing"),
    query: alertsQuery,
    read: ({ deps, viewer }, query) => listAlerts(deps.db, viewer, query, runbookAt(deps.env.publicUrl)),
  });
  return (
    <FirstReads reads={[firing]}>
      <Suspense>
        <AlertsPage />
      </Suspense>
    </FirstReads>
  );
}
