import type { Metadata } from "next";
import { ChannelsPage } from "@/components/observe/alerts/channels/channels-page";

export const metadata: Metadata = { title: "Channels" };

export default function Page() {
  return <ChannelsPage />;
}
