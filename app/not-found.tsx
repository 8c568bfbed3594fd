import type { Metadata } from "next";
import { LinkButton } from "@/components/ui/button";
import { EmptyState } from "@/components/ui/empty-state";

export const metadata: Metadata = { title: "Not found" };

export default function NotFound() {
  return (
    <EmptyState
      title="There is nothing at this address"
      level={1}
      action={
        <>
          <LinkButton href="/events">Events</LinkButton>
          <LinkButton href="/">Overview</LinkButton>
        </>
      }
    >
      The page does not exist. The address may be incomplete.
    </EmptyState>
  );
}
