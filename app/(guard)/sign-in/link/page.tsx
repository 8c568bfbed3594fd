import type { Metadata } from "next";
import { Suspense } from "react";
import { LinkPage } from "@/components/guard/sign-in/link-page";

export const metadata: Metadata = { title: "Choose a password" };

export default function Page() {
  return (
    <Suspense>
      <LinkPage />
    </Suspense>
  );
}
