"use client";

import { LinkButton } from "@/components/ui/button";

const PAGES = [
  { href: "/alerts", label: "Alerts" },
  { href: "/alerts/rules", label: "Rules" },
  { href: "/alerts/channels", label: "Channels" },
] as const;

export function AlertsNav({ current }: { current: (typeof PAGES)[number]["href"] }) {
  return (
    <nav aria-label="Alerts" className="flex gap-1">
      {PAGES.map(({ href, label }) => (
        <LinkButton
          key={href}
          href={href}
          prefetch={false}
          variant={href === current ? "secondary" : "ghost"}
          aria-current={href === current ? "page" : undefined}
        >
          {label}
        </LinkButton>
      ))}
    </nav>
  );
}
