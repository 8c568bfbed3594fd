import type { Metadata } from "next";
import { firstRead } from "@/app/_server/first-read";
import { GroupsPage } from "@/components/events/groups/groups-page";
import { groupListPathIn } from "@/lib/events/groups/group-address.browser";
import { listGroups } from "@/lib/events/groups/group-list.read";
import type { Verdict } from "@/lib/events/groups/group-verdict.pure";
import { groupPageQuery } from "@/lib/events/groups/groups.shapes";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";

export const metadata: Metadata = { title: "Groups" };

export default async function Page() {
  const groups = await firstRead({
    path: groupListPathIn,
    query: groupPageQuery,
    read: ({ deps, viewer, nowMs }, query) => {
      const verdicts = (query.verdict?.split(",") ?? null) as Verdict[] | null;
      return listGroups(deps.db, viewer, { ...query, verdicts }, nowMs);
    },
  });
  return (
    <FirstReads reads={[groups]}>
      <GroupsPage />
    </FirstReads>
  );
}
