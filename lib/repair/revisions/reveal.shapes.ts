import * as z from "zod/mini";
import { eventDetailSchema } from "@/lib/events/events.shapes";
import { revisionDetailSchema } from "@/lib/repair/revisions/revisions.shapes";

/** The answer to POST /api/v1/events/{id}/reveal: nothing in it is masked. */
export const revealedEventSchema = z.object({ event: eventDetailSchema, revisions: z.array(revisionDetailSchema) });
export type RevealedEvent = z.infer<typeof revealedEventSchema>;
