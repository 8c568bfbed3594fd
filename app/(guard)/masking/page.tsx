import type { Metadata } from "next";
import { Suspense } from "react";
import { MaskingPage } from "@/components/guard/masking/masking-page";

export const metadata: Metadata = { title: "Masking" };

export default function Page() {
  return (
    <Suspense>
      <MaskingPage />
    </Suspense>
  );
}
