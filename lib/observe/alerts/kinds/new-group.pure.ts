import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { groupKind } from "@/lib/observe/alerts/kinds/group-kind.pure";
import { plural } from "@/lib/platform/plain/format.pure";

export const NEW_GROUP = groupKind({
  kind: "new-group",
  words: "A new group",
  describe: ({ atLeast }) => `A new group with at least ${plural(atLeast, "event")}`,
  isFirst: true,
  sentence: ({ source, errorCode, pattern, arrived }) =>
    `New group in ${quoted(source)}: ${quoted(errorCode)} "${quoted(pattern)}", ${plural(arrived, "event")}`,
});
