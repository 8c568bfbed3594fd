"use client";

import { useEffect, useRef, useState } from "react";
import { refusalSummary } from "@/components/redrive/refusal-words";
import { ActionButton } from "@/components/ui/action-button";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { useRedrivePreview } from "@/lib/redrive/redrives.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

/** A larger group is counted when its button is approached: a count of many events costs the store a second. */
const COUNTED_MAX = 2_000;

/** Redrives what of the group may go now. Its number is what goes: `Redrive 6 of 19`. */
export function RedriveNow(props: {
  /** The PENDING events of the group. */
  filter: EventFilter;
  pending: number;
  onClick: (count: number) => void;
}) {
  const { filter, pending, onClick } = props;
  const [near, setNear] = useState(false);
  const { seen, ref } = useSeen();
  const preview = useRedrivePreview(
    { select: { filter }, mode: "deliver", lane: "slow", sample: false },
    pending > 0 && (near || (seen && pending <= COUNTED_MAX)),
    pending,
  );
  const eligible = preview.data?.eligible ?? null;
  const some = eligible !== null && eligible !== pending;
  const held = preview.data?.refused["held-by-head"] ?? 0;
  return (
    <span ref={ref} className="contents">
      <ActionButton
        needs="redrive"
        variant="primary"
        disabled={pending === 0}
        refusal={
          eligible === 0 && pending > 0
            ? `None of them can be sent now: ${refusalSummary(preview.data?.refused ?? {})}`
            : null
        }
        onPointerEnter={() => setNear(true)}
        onFocus={() => setNear(true)}
        data-tip={
          held > 0
            ? `${formatNumber(held)} wait behind earlier events: the next step asks what to do with those`
            : "Uses the slow lane, a brake and, above ten events, a canary. Sent after 5 s; you can undo it until then."
        }
        onClick={() => onClick(eligible ?? pending)}
      >
        {/* No number until it is counted: not every PENDING event can be sent. */}
        Redrive
        {eligible === null ? "" : ` ${formatNumber(eligible)}`}
        {some ? ` of ${formatNumber(pending)}` : ""}
      </ActionButton>
    </span>
  );
}

/** Whether the element behind `ref` has been on the screen. */
function useSeen() {
  const ref = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const shown = ref.current?.firstElementChild;
    if (!shown || seen) return;
    const observer = new IntersectionObserver((entries) =>
      setSeen(entries.some(({ isIntersecting }) => isIntersecting)),
    );
    observer.observe(shown);
    return () => observer.disconnect();
  }, [seen]);
  return { seen, ref };
}
