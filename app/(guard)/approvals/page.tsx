import type { Metadata } from "next";
import { Suspense } from "react";
import { ApprovalsPage } from "@/components/guard/approvals/approvals-page";

export const metadata: Metadata = { title: "Approvals" };

export default function Page() {
  return (
    <Suspense>
      <ApprovalsPage />
    </Suspense>
  );
}
