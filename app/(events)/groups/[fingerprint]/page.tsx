import type { Metadata } from "next";
import { Suspense } from "react";
import { GroupPage } from "@/components/events/groups/page/group-page";

export const metadata: Metadata = { title: "Group" };

export default async function Page({ params }: { params: Promise<{ fingerprint: string }> }) {
  const { fingerprint } = await params;
  return (
    <Suspense>
      <GroupPage fingerprint={decodeURIComponent(fingerprint)} />
    </Suspense>
  );
}
