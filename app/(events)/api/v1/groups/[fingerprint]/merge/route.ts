import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import { byFingerprint, groupMergedSchema, groupMergeRequestSchema } from "@/lib/events/groups/groups.shapes";

export const POST = handle({
  id: "mergeGroup",
  summary: "Let another group stand for this one, for parked and for new events",
  params: byFingerprint,
  body: groupMergeRequestSchema,
  idempotent: true,
  answer: groupMergedSchema,
  run: (call) =>
    once(call, () => mergeGroup(call.deps, { fingerprint: call.params.fingerprint, request: call.body }, call.viewer)),
});

export const DELETE = handle({
  id: "splitGroup",
  summary:
    "Split a group off that was merged into another or joined by a storm: its parked and its new events are its own again",
  params: byFingerprint,
  run: ({ deps, viewer, params: { fingerprint } }) => splitGroup(deps, fingerprint, viewer),
});
