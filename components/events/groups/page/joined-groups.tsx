"use client";

import { ActionButton } from "@/components/ui/action-button";
import { Panel } from "@/components/ui/panel";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import { failureToast, showToast } from "@/components/ui/toast";
import { useSplitGroup } from "@/lib/events/groups/groups.browser";
import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { formatNumber, plural, visible } from "@/lib/platform/plain/format.pure";

/** The groups that people have merged into it, and that its storm has joined. */
export function JoinedGroups({ joined: { total, items } }: Pick<GroupDetail, "joined">) {
  const split = useSplitGroup();
  if (total === 0) return null;
  return (
    <Panel title="Merged into this group" meta={plural(total, "group")}>
      <ul>
        {items.map(({ fingerprint, pattern, reason, note, by, at }) => (
          <li
            key={fingerprint}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-2 border-line px-3 py-1.5 not-first:border-t"
          >
            <bdi className="truncate font-mono text-sm" data-tip={visible(pattern)}>
              {pattern === "" ? "without a message" : visible(pattern)}
            </bdi>
            <ActionButton
              needs="ignore"
              size="sm"
              aria-label={`Split off ${visible(pattern)}`}
              busy={split.isPending && split.variables === fingerprint}
              onClick={() =>
                split.mutate(fingerprint, {
                  onSuccess: () =>
                    void showToast({ title: "Group split off; its events are moving back", tone: "success" }),
                  onError: (error) => failureToast("Could not split off the group", error),
                })
              }
            >
              Split off
            </ActionButton>
            <span className="col-span-2 text-sm text-muted wrap-anywhere">
              {reason === "storm" ? "merged automatically in a storm" : `merged by ${visible(by)}`} <TimeAgo at={at} />
              {note === null ? "" : `: ${visible(note)}`}
            </span>
          </li>
        ))}
      </ul>
      {total > items.length ? (
        <p className="px-3 py-1.5 text-muted">{formatNumber(total - items.length)} more are not listed.</p>
      ) : null}
      <p className="px-3 pt-1 pb-2 text-sm text-muted">
        To divide events that are grouped as one failure, assign them a group of their own with an{" "}
        <TextLink href="/admission">admission rule</TextLink>.
      </p>
    </Panel>
  );
}
