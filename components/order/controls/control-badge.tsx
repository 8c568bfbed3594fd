import { classNames } from "@/components/ui/class-names";
import { Shape, type ShapeName } from "@/components/ui/shape";
import type { ControlOut } from "@/lib/order/controls/controls.shapes";

const LOOKS: Record<ControlOut["kind"], { shape: ShapeName; colour: string }> = {
  blacklist: { shape: "triangle", colour: "text-blacklisted" },
  whitelist: { shape: "check", colour: "text-ok" },
  cooldown: { shape: "clock", colour: "text-cooling" },
};

/** Word, shape and colour of a control's kind. */
export function ControlBadge({ kind, quiet }: { kind: ControlOut["kind"]; quiet?: boolean }) {
  const look = LOOKS[kind];
  return (
    <span
      className={classNames(
        "inline-flex shrink-0 items-center gap-1.5 font-mono text-sm whitespace-nowrap uppercase",
        quiet ? "text-ignored" : look.colour,
      )}
    >
      <Shape name={look.shape} />
      {kind}
    </span>
  );
}
