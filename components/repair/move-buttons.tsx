import { ArrowDown, ArrowUp } from "lucide-react";
import type { KeyboardEvent } from "react";
import { type ButtonLook, IconButton } from "@/components/ui/button";

/** The two buttons that move an entry of an ordered list. `name`: of the entry. */
export function MoveButtons(props: {
  name: string;
  first: boolean;
  last: boolean;
  size?: ButtonLook["size"];
  onMove: (by: -1 | 1) => void;
}) {
  const { name, first, last, size, onMove } = props;
  return (
    <>
      <IconButton size={size} label={`Move ${name} up`} shortcut="Alt ↑" disabled={first} onClick={() => onMove(-1)}>
        <ArrowUp size={13} aria-hidden />
      </IconButton>
      <IconButton size={size} label={`Move ${name} down`} shortcut="Alt ↓" disabled={last} onClick={() => onMove(1)}>
        <ArrowDown size={13} aria-hidden />
      </IconButton>
    </>
  );
}

/** Handles the keys of an entry of an ordered list: Alt with an arrow moves it. */
export function onMoveKey(move: (by: -1 | 1, event: KeyboardEvent) => void) {
  return (event: KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : null;
    if (by === null || !event.altKey) return;
    event.preventDefault();
    move(by, event);
  };
}
