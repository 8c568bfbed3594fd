import type { Metadata } from "next";
import { Suspense } from "react";
import { AuditPage } from "@/components/guard/audit/audit-page";

export const metadata: Metadata = { title: "Audit" };

export default function Page() {
  return (
    <Suspense>
      <AuditPage />
    </Suspense>
  );
}
