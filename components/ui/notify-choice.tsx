import { BellRing } from "lucide-react";
import { Button } from "@/components/ui/button";
import type { Notices } from "@/lib/platform/browser/notices.browser";

/** Asks for, or ends, notifications of this browser about what was started in it. */
export function NotifyChoice({ notices: { state, turn } }: { notices: Notices }) {
  if (state === "impossible") return null;
  if (state === "denied") return <span className="text-sm text-muted">Notifications are blocked in this browser.</span>;
  return (
    <Button size="sm" aria-pressed={state === "on"} onClick={() => void turn(state === "off")}>
      <BellRing size={12} aria-hidden /> {state === "on" ? "Notifications on" : "Notify me"}
    </Button>
  );
}
