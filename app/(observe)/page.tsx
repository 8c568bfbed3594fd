import type { Metadata } from "next";
import { Suspense } from "react";
import { OverviewPage } from "@/components/observe/overview/overview-page";

export const metadata: Metadata = { title: { absolute: "Overview · Parkade" } };

export default function Page() {
  return (
    <Suspense>
      <OverviewPage />
    </Suspense>
  );
}
