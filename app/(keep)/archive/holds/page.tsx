import type { Metadata } from "next";
import { HoldsPage } from "@/components/keep/holds/holds-page";

export const metadata: Metadata = { title: "Legal holds" };

export default function Page() {
  return <HoldsPage />;
}
