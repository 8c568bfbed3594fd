"use client";

import { Bell } from "lucide-react";
import Link from "next/link";
import { buttonClass } from "@/components/ui/button";
import { useStatus } from "@/lib/observe/health/status.browser";
import { plural } from "@/lib/platform/plain/format.pure";
import { bellLook } from "./bell-look";

/** Alerts that fire, on every page: how many nobody has acknowledged, in the colour of the worst. */
export function AlertBell() {
  const { data } = useStatus();
  const { words, count, colour } = bellLook(data?.alerts ?? null);
  return (
    <Link
      href="/alerts"
      prefetch={false}
      aria-label={words}
      data-tip={words}
      className={buttonClass({ variant: "ghost" }, `relative px-1.5! ${colour}`)}
    >
      <Bell size={14} aria-hidden />
      {count === 0 ? null : <span className="text-sm font-medium tabular-nums">{count > 99 ? "99+" : count}</span>}
      {/* Said once, when it changes: a person who listens hears of a new alert on any page. */}
      <span role="status" className="sr-only">
        {count === 0 ? "" : `${plural(count, "alert")} to acknowledge`}
      </span>
    </Link>
  );
}
