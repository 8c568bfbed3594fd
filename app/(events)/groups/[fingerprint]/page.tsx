import type { Metadata } from "next";
import { GroupPage } from "@/components/events/groups/page/group-page";

export const metadata: Metadata = { title: "Group" };

type Props = {
  params: Promise<{ fingerprint: string }>;
  searchParams: Promise<{ source?: string | string[] }>;
};

export default async function Page({ params, searchParams }: Props) {
  const { fingerprint } = await params;
  const { source } = await searchParams;
  return (
    <GroupPage
      fingerprint={decodeURIComponent(fingerprint)}
      source={(Array.isArray(source) ? source[0] : source) ?? null}
    />
  );
}
