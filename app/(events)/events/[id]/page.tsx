import type { Metadata } from "next";
import { pageCall } from "@/app/_server/page-call";
import { EventPage } from "@/components/events/page/event-page";
import { readEventDetail } from "@/lib/events/detail/event-detail.read";
import type { InitialDetail } from "@/lib/events/events.browser";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

export const metadata: Metadata = { title: "Event" };

/** A payload stands in the HTML twice (as text and as bytes): a large one comes faster by itself. */
const INLINE_BYTES_MAX = 64 * 1024;

export default async function Page({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  return <EventPage id={id} initial={await readFirst(id)} />;
}

/** The event as it is now, for the HTML. Best effort: on null the browser asks the API and shows its error. */
async function readFirst(id: string): Promise<InitialDetail> {
  if (!UUID.test(id)) return null;
  const { deps, viewer, nowMs: readAtMs } = await pageCall();
  try {
    const event = await readEventDetail(deps.db, viewer, id, readAtMs);
    return event.body.bytes > INLINE_BYTES_MAX ? null : { event, readAtMs };
  } catch (error) {
    const unknown = error instanceof DomainError && error.code === "unknown-event";
    if (!unknown) deps.log.warn({ err: error }, "an event's page could not read it");
    return null;
  }
}
