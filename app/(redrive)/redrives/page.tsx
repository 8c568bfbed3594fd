import type { Metadata } from "next";
import { Suspense } from "react";
import { RedrivesPage } from "@/components/redrive/list/redrive-list";

export const metadata: Metadata = { title: "Redrives" };

export default function Page() {
  return (
    <Suspense>
      <RedrivesPage />
    </Suspense>
  );
}
