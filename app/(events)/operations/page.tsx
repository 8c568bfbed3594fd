import type { Metadata } from "next";
import { Suspense } from "react";
import { OperationsPage } from "@/components/events/bulk/operations-page";

export const metadata: Metadata = { title: "Bulk changes" };

export default function Page() {
  return (
    <Suspense>
      <OperationsPage />
    </Suspense>
  );
}
