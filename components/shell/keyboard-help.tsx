"use client";

import { Dialog } from "@/components/ui/dialog";
import { Kbd } from "@/components/ui/kbd";
import { PAGES } from "./navigation";

const SECTIONS: { title: string; rows: [keys: string, does: string][] }[] = [
  {
    title: "Anywhere",
    rows: [
      ["/", "search"],
      ["Ctrl K", "commands"],
      ["?", "this help"],
      ["Esc", "close, or clear the selection"],
    ],
  },
  { title: "Go to", rows: PAGES.map((page) => [`g ${page.key}`, page.label]) },
  {
    title: "Events",
    rows: [
      ["j k", "next, previous"],
      ["Enter", "open beside the list; press again to open its page"],
      ["x", "select"],
      ["Shift x", "select a range"],
      ["a", "extend the selection to all matching events"],
      ["Shift a", "select all matching"],
      ["r", "redrive"],
      ["v", "verify: dry run only"],
      ["i", "ignore, or release what is ignored"],
      ["e", "edit one event"],
      ["m", "mend the selection, or all that match"],
      ["n", "show new events"],
    ],
  },
];

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <div className="grid gap-x-8 gap-y-4 sm:grid-cols-2">
        {SECTIONS.map((section) => (
          <section key={section.title} className={section.title === "Events" ? "sm:col-span-2" : undefined}>
            <h3 className="mb-1 text-sm font-medium text-faint">{section.title}</h3>
            <dl className={section.title === "Events" ? "grid gap-x-8 sm:grid-cols-2" : "flex flex-col"}>
              {section.rows.map(([keys, does]) => (
                <div key={keys} className="flex h-7 items-center justify-between gap-4 border-b border-line">
                  <dt className="flex gap-1">
                    {keys.split(" ").map((key, index) => (
                      // biome-ignore lint/suspicious/noArrayIndexKey: `g g` is the same key twice
                      <Kbd key={index}>{key}</Kbd>
                    ))}
                  </dt>
                  <dd className="text-muted">{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
