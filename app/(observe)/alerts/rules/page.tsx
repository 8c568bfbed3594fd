import type { Metadata } from "next";
import { AlertRulesPage } from "@/components/observe/alerts/rules/alert-rules-page";

export const metadata: Metadata = { title: "Alert rules" };

export default function Page() {
  return <AlertRulesPage />;
}
