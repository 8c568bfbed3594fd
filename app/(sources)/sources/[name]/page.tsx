import type { Metadata } from "next";
import { SourcePage } from "@/components/sources/source-page";

export const metadata: Metadata = { title: "Source" };

export default async function Page({ params }: { params: Promise<{ name: string }> }) {
  const { name } = await params;
  return <SourcePage name={decodeURIComponent(name)} />;
}
