import { handle } from "@/app/_server/handle";
import { assertKnownSource } from "@/app/_server/named-sources";
import { once } from "@/app/_server/once";
import { BODY_ID } from "@/app/_server/operation";
import { listHolds, readHold } from "@/lib/keep/holds/holds.read";
import { holdListSchema, holdRequestSchema, holdSchema, holdsQuery } from "@/lib/keep/holds/holds.shapes";
import { placeHold } from "@/lib/keep/holds/place-hold";

export const GET = handle({
  id: "listHolds",
  summary: "Legal holds, newest first",
  query: holdsQuery,
  answer: holdListSchema,
  run: ({ deps, viewer, query }) => listHolds(deps.db, viewer, query),
});

export const POST = handle({
  id: "placeHold",
  summary: "Place a legal hold: what it covers is not removed, expired or forgotten until it is lifted",
  body: holdRequestSchema,
  idempotent: true,
  status: 201,
  answer: holdSchema,
  problems: ["invalid-window", "unknown-source"],
  links: { liftHold: BODY_ID },
  run: (call) =>
    once(call, async () => {
      await assertKnownSource(call, call.body.scope.source, "scope.source");
      const id = await placeHold(call.deps, call.body, call.viewer);
      return readHold(call.deps.db, call.viewer, id);
    }),
});
