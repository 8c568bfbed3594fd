import type { Metadata } from "next";
import { Suspense } from "react";
import { firstRead } from "@/app/_server/first-read";
import { ControlsPage } from "@/components/order/controls/controls-page";
import { listControls } from "@/lib/order/controls/control-list.read";
import { controlsQuery } from "@/lib/order/controls/controls.shapes";
import { controlsPath } from "@/lib/platform/api/first-reads.pure";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";

export const metadata: Metadata = { title: "Controls" };

export default async function Page() {
  const controls = await firstRead({
    path: controlsPath("live"),
    query: controlsQuery,
    read: ({ deps, viewer }, query) => listControls(deps.db, viewer, query),
  });
  return (
    <FirstReads reads={[controls]}>
      <Suspense>
        <ControlsPage />
      </Suspense>
    </FirstReads>
  );
}
