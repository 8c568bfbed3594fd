import type { Metadata } from "next";
import { Suspense } from "react";
import { MendPage } from "@/components/repair/mends/mend-page";

export const metadata: Metadata = { title: "Mend" };

export default function Page() {
  return (
    <Suspense>
      <MendPage />
    </Suspense>
  );
}
