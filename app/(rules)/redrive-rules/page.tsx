import type { Metadata } from "next";
import { RedriveRulesPage } from "@/components/rules/redrive-rules/redrive-rules-page";

export const metadata: Metadata = { title: "Redrive rules" };

export default function Page() {
  return <RedriveRulesPage />;
}
