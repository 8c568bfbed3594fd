import { handle } from "@/app/_server/handle";
import { mergeGroup, splitGroup } from "@/lib/events/groups/aliases/merge-groups";
import { byFingerprint, groupMergedSchema, groupMergeRequestSchema } from "@/lib/events/groups/groups.shapes";

export const POST = handle({
  id: "mergeGroup",
  summary: "Merge this group into another, for parked and new events",
  params: byFingerprint,
  body: groupMergeRequestSchema,
  idempotent: true,
  answer: groupMergedSchema,
  run: (call) => mergeGroup(call.deps, { fingerprint: call.params.fingerprint, request: call.body }, call.viewer),
});

export const DELETE = handle({
  id: "splitGroup",
  summary:
    "Split off a group that was merged into another, by a person or in a storm: its parked and new events return to it",
  params: byFingerprint,
  run: ({ deps, viewer, params: { fingerprint } }) => splitGroup(deps, fingerprint, viewer),
});
