import type { Metadata } from "next";
import { Suspense } from "react";
import { AdmissionPage } from "@/components/intake/admission/admission-page";

export const metadata: Metadata = { title: "Admission" };

export default function Page() {
  return (
    <Suspense>
      <AdmissionPage />
    </Suspense>
  );
}
