import type { Metadata } from "next";
import { Suspense } from "react";
import { RedrivePage } from "@/components/redrive/page/redrive-page";

export const metadata: Metadata = { title: "Redrive" };

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return (
    <Suspense>
      <RedrivePage id={id} />
    </Suspense>
  );
}
