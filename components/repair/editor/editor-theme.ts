import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { pageNonce } from "@/lib/platform/browser/page-nonce.browser";

/** The tokens of app/globals.css change with the theme, so one style of the editor serves both themes. */
const look = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--font-geist-mono), ui-monospace, monospace", lineHeight: "20px" },
  ".cm-content": { caretColor: "var(--ink)", padding: "6px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--accent) 28%, transparent)",
  },
  ".cm-gutters": {
    color: "var(--faint)",
    backgroundColor: "var(--canvas)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine": { backgroundColor: "color-mix(in oklab, var(--hover) 60%, transparent)" },
  ".cm-activeLineGutter": { color: "var(--ink)", backgroundColor: "var(--hover)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--selected)",
    outline: "1px solid var(--accent)",
  },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": { color: "var(--state-blacklisted)" },
  ".cm-foldPlaceholder": { color: "var(--muted)", backgroundColor: "var(--hover)", borderColor: "var(--line-strong)" },
  // Upon the colour of a change the colours of the syntax have too little contrast.
  ".cm-changedText, .cm-changedText *, .cm-deletedText, .cm-deletedText *, del .cm-deletedText": {
    color: "var(--ink)",
  },
  // The marks of the library are in none of the fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '"…"' },
  ".cm-specialChar": { color: "var(--state-bounced)" },
  ".cm-searchMatch": { backgroundColor: "var(--selected)", outline: "1px solid var(--line-strong)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-selectionMatch": { backgroundColor: "var(--hover)" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--raised)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line-strong)" },
  ".cm-panel.cm-search": { padding: "6px 28px 6px 8px", fontFamily: "var(--font-geist-sans), sans-serif" },
  ".cm-panel.cm-search label": { fontSize: "12px", display: "inline-flex", alignItems: "center", gap: "4px" },
  ".cm-panel.cm-search [name=close]": { color: "var(--muted)", minWidth: "24px", minHeight: "24px" },
  ".cm-textfield": {
    color: "var(--ink)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--control)",
    borderRadius: "5px",
    fontSize: "12px",
    padding: "2px 6px",
  },
  ".cm-button": {
    color: "var(--ink)",
    backgroundColor: "var(--raised)",
    backgroundImage: "none",
    border: "1px solid var(--line-strong)",
    borderRadius: "5px",
    fontSize: "12px",
    padding: "2px 8px",
    textTransform: "capitalize",
  },
  ".cm-tooltip": {
    color: "var(--ink)",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line-strong)",
    borderRadius: "5px",
  },
  ".cm-diagnostic": { fontFamily: "var(--font-geist-sans), sans-serif", padding: "4px 8px", maxWidth: "60ch" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--state-blacklisted)" },
  ".cm-diagnostic-warning": { borderLeft: "3px solid var(--state-pending)" },
  ".cm-lintRange": { backgroundImage: "none", textDecoration: "underline wavy 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-error": { textDecorationColor: "var(--state-blacklisted)" },
  ".cm-lintRange-warning": { textDecorationColor: "var(--state-pending)" },
  ".cm-lint-marker": { width: "10px", height: "10px", margin: "5px 0" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "color-mix(in oklab, var(--state-blacklisted) 24%, transparent)",
  },
  "&.cm-merge-b .cm-changedText": { background: "color-mix(in oklab, var(--state-confirmed) 26%, transparent)" },
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": {
    backgroundColor: "color-mix(in oklab, var(--state-blacklisted) 9%, transparent)",
  },
  "&.cm-merge-b .cm-changedLine": {
    backgroundColor: "color-mix(in oklab, var(--state-confirmed) 9%, transparent)",
  },
  "&.cm-merge-a .cm-changedLineGutter": { background: "var(--state-blacklisted)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--state-confirmed)" },
  ".cm-collapsedLines": {
    color: "var(--muted)",
    background: "var(--hover)",
    borderBlock: "1px solid var(--line)",
  },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--ink)" },
  { tag: tags.string, color: "var(--state-confirmed)" },
  { tag: tags.number, color: "var(--state-queued)" },
  { tag: [tags.bool, tags.null], color: "var(--state-cooling)" },
  { tag: [tags.separator, tags.brace, tags.squareBracket, tags.punctuation], color: "var(--muted)" },
  { tag: tags.invalid, color: "var(--state-blacklisted)" },
]);

export const editorTheme = [look, syntaxHighlighting(colours), EditorView.cspNonce.of(pageNonce() ?? "")];
