import type { Metadata } from "next";
import { SourcePage } from "@/components/sources/source-page";

type Asked = { params: Promise<{ name: string }> };

export async function generateMetadata({ params }: Asked): Promise<Metadata> {
  return { title: decodeURIComponent((await params).name) };
}

export default async function Page({ params }: Asked) {
  return <SourcePage name={decodeURIComponent((await params).name)} />;
}
