"use client";

import { Menu } from "@base-ui/react/menu";
import Link from "next/link";
import type { ReactNode } from "react";
import { useRefusal } from "@/lib/guard/viewer/me.browser";
import type { Action } from "@/lib/guard/viewer/viewer.pure";
import { classNames } from "./class-names";
import { type AnchoredPopup, besideAnchor, closeUnlessAnchorPressed, POPUP_CLASS } from "./overlay-anchor";

export type MenuEntry =
  | {
      kind?: "action";
      id: string;
      label: ReactNode;
      hint?: ReactNode;
      /** What whoever chooses it must be allowed; null = everybody may. */
      needs: Action | null;
      danger?: boolean;
      disabled?: boolean;
      onSelect: () => void;
    }
  /** `download`: a plain anchor, for files; otherwise a navigation inside the console. */
  | { kind: "link"; id: string; label: ReactNode; hint?: ReactNode; href: string; download?: boolean }
  | { kind: "choice"; id: string; label: ReactNode; hint?: ReactNode; checked: boolean; onSelect: () => void }
  | { kind: "heading"; id: string; label: ReactNode }
  | { kind: "separator"; id: string };

const ITEM =
  "flex h-7 cursor-pointer items-center gap-2 rounded-sm px-2 outline-none select-none data-highlighted:bg-hover data-disabled:opacity-50";

function Hint({ children }: { children: ReactNode }) {
  return children ? <span className="ml-auto pl-6 text-sm text-faint">{children}</span> : null;
}

function Entry({ entry }: { entry: MenuEntry }) {
  switch (entry.kind) {
    case "separator":
      return <Menu.Separator className="my-1 h-px bg-line" />;
    case "heading":
      return <div className="px-2 pt-1.5 pb-1 text-xs font-medium text-faint">{entry.label}</div>;
    case "link":
      return (
        <Menu.Item
          className={ITEM}
          // biome-ignore lint/a11y/useAnchorContent: Base UI puts the item's children into it
          render={entry.download ? <a href={entry.href} download /> : <Link href={entry.href} />}
          nativeButton={false}
        >
          {entry.label}
          <Hint>{entry.hint}</Hint>
        </Menu.Item>
      );
    case "choice":
      return (
        <Menu.CheckboxItem className={ITEM} checked={entry.checked} onCheckedChange={entry.onSelect} closeOnClick>
          <span className="w-3 text-accent" aria-hidden>
            {entry.checked ? "✓" : ""}
          </span>
          {entry.label}
          <Hint>{entry.hint}</Hint>
        </Menu.CheckboxItem>
      );
    default:
      return <ActionEntry entry={entry} />;
  }
}

function ActionEntry({ entry }: { entry: Extract<MenuEntry, { kind?: "action" }> }) {
  const refusal = useRefusal(entry.needs ?? undefined);
  return (
    <Menu.Item
      className={classNames(ITEM, entry.danger && "text-danger")}
      disabled={entry.disabled || refusal !== null}
      data-tip={refusal ?? undefined}
      onClick={entry.onSelect}
    >
      {entry.label}
      <Hint>{refusal === null ? entry.hint : "not allowed"}</Hint>
    </Menu.Item>
  );
}

/** An open menu beside its button. `MenuButton` mounts it to open it and unmounts it to close it. */
export function MenuPanel(props: AnchoredPopup & { label: string; entries: MenuEntry[] }) {
  const { anchor, label, entries } = props;
  return (
    <Menu.Root open onOpenChange={closeUnlessAnchorPressed(props)}>
      {/* Inside the landmark of its button: a menu at the end of <body> belongs to no part of the page. */}
      {/* Out of the flow: one more child of a header with gaps would move the others. */}
      <Menu.Portal className="absolute" container={anchor.current?.closest<HTMLElement>("main, header, nav, aside")}>
        <Menu.Positioner {...besideAnchor(props)} positionMethod="fixed">
          <Menu.Popup
            aria-label={label}
            finalFocus={anchor}
            className={classNames(POPUP_CLASS, "max-h-[min(480px,80dvh)] min-w-44 overflow-y-auto p-1")}
          >
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
