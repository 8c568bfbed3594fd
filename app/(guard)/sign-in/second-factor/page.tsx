import type { Metadata } from "next";
import { Suspense } from "react";
import { SecondFactorPage } from "@/components/guard/sign-in/second-factor-page";

export const metadata: Metadata = { title: "Add a second factor" };

export default function Page() {
  return (
    <Suspense>
      <SecondFactorPage />
    </Suspense>
  );
}
