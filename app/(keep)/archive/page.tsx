import type { Metadata } from "next";
import { Suspense } from "react";
import { ArchivePage } from "@/components/keep/archive/archive-page";

export const metadata: Metadata = { title: "Archive" };

export default function Page() {
  return (
    <Suspense>
      <ArchivePage />
    </Suspense>
  );
}
