import type { Metadata } from "next";
import { ForgetPage } from "@/components/keep/forget/forget-page";

export const metadata: Metadata = { title: "Forget a person" };

export default function Page() {
  return <ForgetPage />;
}
