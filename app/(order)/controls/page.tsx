import type { Metadata } from "next";
import { Suspense } from "react";
import { ControlsPage } from "@/components/order/controls/controls-page";

export const metadata: Metadata = { title: "Controls" };

export default function Page() {
  return (
    <Suspense>
      <ControlsPage />
    </Suspense>
  );
}
