import type { Metadata } from "next";
import { pageCall } from "@/app/_server/page-call";
import { DevicePage } from "@/components/guard/sign-in/device-page";

export const metadata: Metadata = { title: "Confirm a program" };

/** Whoever has not signed in does so first, and comes back. */
export default async function Page() {
  await pageCall();
  return <DevicePage />;
}
