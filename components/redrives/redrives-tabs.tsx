import Link from "next/link";

const PAGES = [
  { href: "/redrives", label: "Redrives" },
  { href: "/operations", label: "Bulk changes" },
] as const;

/** Tabs of the two kinds of bulk work: redrives and bulk changes of status. */
export function RedrivesTabs({ current }: { current: (typeof PAGES)[number]["href"] }) {
  return (
    <nav aria-label="Operations" className="flex gap-1 border-b border-line px-2">
      {PAGES.map(({ href, label }) => (
        <Link
          key={href}
          href={href}
          prefetch={false}
          aria-current={href === current ? "page" : undefined}
          className="-mb-px flex h-8 items-center border-b-2 border-transparent px-2 text-muted outline-offset-[-2px] hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink"
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}
