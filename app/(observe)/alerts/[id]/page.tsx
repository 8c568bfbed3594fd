import type { Metadata } from "next";
import { AlertPage } from "@/components/observe/alerts/alert-page";

export const metadata: Metadata = { title: "Alert" };

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return <AlertPage id={id} />;
}
