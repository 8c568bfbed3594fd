import { untilWords } from "@/components/events/groups/mute-until";
import { classNames } from "@/components/ui/class-names";
import { Shape } from "@/components/ui/shape";
import type { GroupMuteOut } from "@/lib/events/groups/mutes/group-mutes.shapes";
import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatAbsolute } from "@/lib/platform/plain/format.pure";

/** `muted until 18:00`, with all that is known on hover. `sources`: those of the group; where it has several, that of the mute is said. */
export function MuteNote(props: { mute: GroupMuteOut; sources: readonly string[]; className?: string }) {
  const { mute, sources, className } = props;
  const zone = useZone();
  const where = mute.source !== null && sources.length > 1 ? ` in ${mute.source}` : "";
  const source = mute.source === null ? "" : `, of ${mute.source}`;
  return (
    <span
      className={classNames("inline-flex min-w-0 items-center gap-1 whitespace-nowrap text-cooling", className)}
      data-tip={`No messages about it${source}: ${mute.createdBy}\n${mute.reason}${mute.until === null ? "" : `\nuntil ${formatAbsolute(Date.parse(mute.until), zone)}`}`}
    >
      <Shape name="clock" />
      <span className="truncate">
        muted{where} {untilWords(mute, zone)}
      </span>
    </span>
  );
}
