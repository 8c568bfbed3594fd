"use client";

import { json } from "@codemirror/lang-json";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension, Text } from "@codemirror/state";
import { EditorView, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { editorTheme } from "./editor-theme";

/** Below this width two columns would show too little of each line. */
const WIDE = "(min-width: 900px)";

function subscribeWide(onChange: () => void): () => void {
  const query = window.matchMedia(WIDE);
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
}

export type DiffProps = {
  before: string;
  after: string;
  /** The accessible names of the two texts. */
  names: readonly [before: string, after: string];
  language?: "json" | "text";
};

/** Two texts and what differs: beside each other, or as one text in a narrow window. It is large: load it with `whenOpened`. */
export function DiffView({ before, after, names, language = "text" }: DiffProps) {
  const host = useRef<HTMLDivElement>(null);
  const wide = useSyncExternalStore(
    subscribeWide,
    () => window.matchMedia(WIDE).matches,
    () => true,
  );
  const [nameBefore, nameAfter] = names;

  useEffect(() => {
    // With any other line break a change between CRLF and LF would not be seen.
    const separator = [before, after].every(onlyCarriageReturns) ? "\r\n" : "\n";
    const [original, doc] = [before, after].map((text) => Text.of(text.split(separator))) as [Text, Text];
    const shared: Extension[] = [
      EditorState.readOnly.of(true),
      EditorView.lineWrapping,
      lineNumbers(),
      highlightSpecialChars(),
      editorTheme,
      language === "json" ? json() : [],
    ];
    const named = (name: string) => EditorView.contentAttributes.of({ "aria-label": name, "aria-readonly": "true" });
    const collapseUnchanged = { margin: 3, minSize: 6 };
    const diffConfig = { scanLimit: 1_000, timeout: 500 };
    if (!wide) {
      const editor = new EditorView({
        parent: host.current!,
        doc,
        extensions: [
          shared,
          named(`${nameBefore} and ${nameAfter}`),
          unifiedMergeView({ original, mergeControls: false, collapseUnchanged, diffConfig }),
        ],
      });
      return () => editor.destroy();
    }
    const merge = new MergeView({
      parent: host.current!,
      a: { doc: original, extensions: [shared, named(nameBefore)] },
      b: { doc, extensions: [shared, named(nameAfter)] },
      collapseUnchanged,
      diffConfig,
    });
    return () => merge.destroy();
  }, [before, after, nameBefore, nameAfter, language, wide]);

  return (
    <div className="overflow-hidden rounded-md border border-line">
      {wide ? (
        <div aria-hidden className="grid grid-cols-2 border-b border-line bg-canvas text-sm text-muted">
          <span className="px-3 py-1">{nameBefore}</span>
          <span className="px-3 py-1">{nameAfter}</span>
        </div>
      ) : null}
      <div ref={host} className="max-h-[60dvh] overflow-auto" />
    </div>
  );
}

const onlyCarriageReturns = (text: string) => text.includes("\r\n") && !/\r(?!\n)|(?<!\r)\n/.test(text);
