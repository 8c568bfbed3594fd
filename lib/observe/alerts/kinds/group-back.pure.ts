import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import { groupKind } from "@/lib/observe/alerts/kinds/group-kind.pure";
import { formatDuration, plural } from "@/lib/platform/plain/format.pure";

export const GROUP_BACK = groupKind({
  kind: "group-back",
  words: "A group returns",
  describe: ({ atLeast, quietMs }) =>
    `A group returns with at least ${plural(atLeast, "event")} after ${formatDuration(quietMs)} without any`,
  isFirst: false,
  sentence({ source, errorCode, pattern, arrived, runSinceMs, beforeMs }) {
    const pause = beforeMs === null ? "" : ` after ${formatDuration(runSinceMs - beforeMs)}`;
    return `Back in ${quoted(source)}${pause}: ${quoted(errorCode)} "${quoted(pattern)}", ${plural(arrived, "event")}`;
  },
});
