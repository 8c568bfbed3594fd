"use client";

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentUnit } from "@codemirror/language";
import { linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { format } from "jsonc-parser";
import { type Ref, useEffect, useImperativeHandle, useRef, useState } from "react";
import { editorTheme } from "./editor-theme";
import { CHECKED_CHARS_MAX, type PlacedProblem, type PointedProblem, placeAll, readJson } from "./json-places";

/** The time without a key press before the text is checked. */
const CHECK_AFTER_MS = 350;

export type CodeEditorHandle = {
  focus(): void;
  /** Selects a range and scrolls to it. */
  show(problem: PlacedProblem): void;
  /** Changes the white space only; false when the text is no JSON. */
  format(): boolean;
};

export type CodeEditorProps = {
  /** At first; the editor keeps its own from then on. */
  text: string;
  separator: "\n" | "\r\n";
  language: "json" | "text";
  label: string;
  /** The id of an element that says how to use the editor. */
  describedBy?: string;
  autoFocus?: boolean;
  onChange?: (text: string) => void;
  /** What the schema says of a text that is JSON. A failure is the caller's to show; it then gives no problem. */
  check?: (text: string) => Promise<PointedProblem[]>;
  onProblems?: (problems: PlacedProblem[]) => void;
  /** Ctrl Enter. */
  onDone?: () => void;
  handle?: Ref<CodeEditorHandle>;
  className?: string;
};

/** CodeMirror for JSON and text. It is large: load it with `whenOpened`. */
export function CodeEditor(props: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { text, separator, language, label, describedBy } = props;
  const first = useRef(text);
  const [spoken] = useState(() => new Compartment());

  useEffect(() => {
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          keymap.of([{ key: "Mod-Enter", run: () => pressed(latest.current.onDone) }]),
          ...basics(separator),
          spoken.of(languageOf(latest)),
          EditorView.contentAttributes.of({
            "aria-label": label,
            ...(describedBy === undefined ? {} : { "aria-describedby": describedBy }),
          }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange?.(update.state.sliceDoc());
          }),
        ],
      }),
    });
    view.current = editor;
    if (latest.current.autoFocus) editor.focus();
    return () => {
      // Another line break is another editor with the same text.
      first.current = editor.state.sliceDoc();
      editor.destroy();
      view.current = null;
    };
  }, [separator, label, describedBy, spoken]);
  // A typed character can turn JSON into text: the cursor and what can be undone stay.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `languageOf` reads it from the last props
  useEffect(() => view.current?.dispatch({ effects: spoken.reconfigure(languageOf(latest)) }), [language, spoken]);

  useImperativeHandle(props.handle, () => ({
    focus: () => view.current?.focus(),
    show: ({ from, to }) => {
      const editor = view.current!;
      const { length } = editor.state.doc;
      const selection = { anchor: Math.min(from, length), head: Math.min(to, length) };
      editor.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      editor.focus();
    },
    format: () => formatWhole(view.current!),
  }));

  return <div ref={host} className={props.className ?? "min-h-0 flex-1 overflow-hidden"} />;
}

/** Shown near each editor: Tab indents, so a person at a keyboard must know how to leave. */
export function EditorKeys({ id, more = "" }: { id: string; more?: string }) {
  return (
    <p id={id} className="text-sm text-faint">
      Escape, then Tab leaves the editor. Ctrl F searches, F8 goes to the next problem, Ctrl Shift [ folds{more}.
    </p>
  );
}

function basics(separator: "\n" | "\r\n"): Extension[] {
  return [
    EditorState.lineSeparator.of(separator),
    // A pasted text has its own line breaks, which would stand as characters in a line.
    EditorView.clipboardInputFilter.of((pasted, { lineBreak }) => pasted.replaceAll(/\r\n?|\n/g, lineBreak)),
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search(),
    EditorView.lineWrapping,
    indentUnit.of("  "),
    editorTheme,
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...lintKeymap, indentWithTab]),
  ];
}

function languageOf(props: { readonly current: CodeEditorProps }): Extension {
  if (props.current.language === "text") return [];
  const checks = linter((editor) => check(editor, props.current), { delay: CHECK_AFTER_MS });
  return [json(), codeFolding(), foldGutter(), bracketMatching(), lintGutter(), checks];
}

/** False leaves the key to the editor's own commands. */
function pressed(action: (() => void) | undefined): boolean {
  action?.();
  return action !== undefined;
}

/** Errors of the syntax; for a text without them the problems of the schema. */
async function check(editor: EditorView, { check: ask, onProblems }: CodeEditorProps): Promise<PlacedProblem[]> {
  const { doc } = editor.state;
  if (doc.length > CHECKED_CHARS_MAX) {
    onProblems?.([]);
    return [];
  }
  // Line breaks are one unit in the editor's positions, so the text is read with one unit for each.
  const { root, problems } = readJson(doc.toString());
  const valid = root !== null && problems.every(({ severity }) => severity !== "error");
  const bySchema = valid && ask ? placeAll(root, await ask(editor.state.sliceDoc())) : [];
  const all = [...problems, ...bySchema];
  // The text has changed meanwhile: its own check follows.
  if (editor.state.doc.eq(doc)) onProblems?.(all);
  return all;
}

function formatWhole(editor: EditorView): boolean {
  const { state } = editor;
  const text = state.doc.toString();
  const { root, problems } = readJson(text);
  if (root === null || problems.some(({ severity }) => severity === "error")) return false;
  const edits = format(text, undefined, { insertSpaces: true, tabSize: 2, eol: "\n" });
  editor.dispatch({
    changes: edits.map(({ offset, length, content }) => ({
      from: offset,
      to: offset + length,
      insert: state.toText(content.replaceAll("\n", state.lineBreak)),
    })),
    userEvent: "input.format",
  });
  return true;
}
