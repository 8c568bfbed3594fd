import type { Metadata } from "next";
import { ForgetPage } from "@/components/keep/forget/forget-page";

export const metadata: Metadata = { title: "Forget" };

export default function Page() {
  return <ForgetPage />;
}
