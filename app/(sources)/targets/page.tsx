import type { Metadata } from "next";
import { firstRead } from "@/app/_server/first-read";
import { addressOf } from "@/app/_server/sources/target-address";
import { TargetsPage } from "@/components/sources/targets/targets-page";
import { TARGETS_PATH } from "@/lib/platform/api/first-reads.pure";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { FirstReads } from "@/lib/platform/browser/first-reads.browser";
import { listTargets } from "@/lib/sources/targets/target-list.read";

export const metadata: Metadata = { title: "Targets" };

export default async function Page() {
  const targets = await firstRead({
    path: TARGETS_PATH,
    query: idPageQuery({}),
    read: ({ deps, viewer }) => listTargets(deps.db, viewer, addressOf),
  });
  return (
    <FirstReads reads={[targets]}>
      <TargetsPage />
    </FirstReads>
  );
}
