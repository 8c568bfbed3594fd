import type { Metadata } from "next";
import { Suspense } from "react";
import { OperationPage } from "@/components/events/bulk/operation-page";

export const metadata: Metadata = { title: "Bulk change" };

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return (
    <Suspense>
      <OperationPage id={id} />
    </Suspense>
  );
}
