import type { Metadata } from "next";
import { Suspense } from "react";
import { AccountPage } from "@/components/guard/account/account-page";

export const metadata: Metadata = { title: "Account" };

export default function Page() {
  return (
    <Suspense>
      <AccountPage />
    </Suspense>
  );
}
