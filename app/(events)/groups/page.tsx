import type { Metadata } from "next";
import { Suspense } from "react";
import { GroupsPage } from "@/components/events/groups/groups-page";

export const metadata: Metadata = { title: "Groups" };

export default function Page() {
  return (
    <Suspense>
      <GroupsPage />
    </Suspense>
  );
}
