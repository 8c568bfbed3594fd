import type { Metadata } from "next";
import { firstPage } from "@/app/_server/first-page";
import { GroupsPage } from "@/components/events/groups/groups-page";
import { groupListPathIn } from "@/lib/events/groups/group-address.browser";
import { listGroups } from "@/lib/events/groups/group-list.read";
import type { Verdict } from "@/lib/events/groups/group-verdict.pure";
import { groupPageQuery } from "@/lib/events/groups/groups.shapes";

export const metadata: Metadata = { title: "Groups" };

export default async function Page() {
  const initial = await firstPage({
    pathOf: groupListPathIn,
    query: groupPageQuery,
    read: ({ deps, viewer, nowMs }, query) => {
      const verdicts = (query.verdict?.split(",") ?? null) as Verdict[] | null;
      return listGroups(deps.db, viewer, { ...query, verdicts }, nowMs);
    },
  });
  return <GroupsPage initial={initial} />;
}
