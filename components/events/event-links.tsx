import { ExternalLink, ScrollText, Waypoints } from "lucide-react";
import { classNames } from "@/components/ui/class-names";
import { visible } from "@/lib/platform/plain/format.pure";
import type { LinkKind } from "@/lib/sources/links/source-links.pure";

const ICONS = { logs: ScrollText, traces: Waypoints, other: ExternalLink } as const satisfies Record<LinkKind, unknown>;

type Shown = { label: string; kind: LinkKind; url: string | null; lacks?: string | null };

/** Links of one event to its log and its trace, each in a new tab. One that the event has no value for says so. */
export function EventLinks({ links, className }: { links: readonly Shown[]; className?: string }) {
  if (links.length === 0) return null;
  return (
    <ul aria-label="Logs and traces" className={classNames("flex min-w-0 flex-wrap gap-x-4", className)}>
      {links.map(({ label, kind, url, lacks }) => {
        const Icon = ICONS[kind];
        const name = <bdi className="wrap-anywhere">{visible(label)}</bdi>;
        return (
          <li key={label} className="flex min-h-6 max-w-full items-center">
            {url === null ? (
              <span className="flex items-center gap-1.5 text-faint">
                <Icon size={13} aria-hidden className="shrink-0" />
                <span className="min-w-0">
                  {name}: {lacks}
                </span>
              </span>
            ) : (
              <a
                href={url}
                target="_blank"
                rel="noreferrer noopener"
                data-tip="Opens in a new tab"
                className="touch flex items-center gap-1.5 text-accent hover:underline"
              >
                <Icon size={13} aria-hidden className="shrink-0" />
                {name}
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}
