"use client";

import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export type TabEntry = {
  id: string;
  label: ReactNode /** Small number beside the label. */;
  count?: number;
  content: ReactNode;
};

export function Tabs(props: {
  /** The accessible name of the tab list. */
  label: string;
  tabs: TabEntry[];
  value: string;
  onChange: (id: string) => void;
  panelClassName?: string;
  /** A hidden panel keeps its state, such as what an editor can undo. */
  keepMounted?: boolean;
}) {
  const { label, tabs, value, onChange, panelClassName, keepMounted } = props;
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(String(next))} className="flex min-h-0 flex-1 flex-col">
      <Base.List
        aria-label={label}
        className="flex shrink-0 gap-1 overflow-x-auto overflow-y-hidden border-b border-line px-2"
        activateOnFocus
      >
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.id}
            value={tab.id}
            className="-mb-px flex h-8 items-center gap-1.5 border-b-2 border-transparent px-2 text-muted outline-offset-[-2px] hover:text-ink data-active:border-accent data-active:text-ink"
          >
            {tab.label}
            {tab.count === undefined ? null : <span className="text-sm text-faint">{tab.count}</span>}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel
          key={tab.id}
          value={tab.id}
          keepMounted={keepMounted}
          className={panelClassName ?? "min-h-0 flex-1 outline-offset-[-2px]"}
        >
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
