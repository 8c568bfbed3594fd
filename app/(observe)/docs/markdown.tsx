import type { MarkedToken, Token, Tokens } from "marked";
import { createElement, Fragment, type ReactNode } from "react";
import { Table, Td, Th } from "@/components/ui/table";
import { TextLink } from "@/components/ui/text-link";
import { anchorOf, hrefOf } from "@/lib/observe/docs/markdown.pure";

/** One of our own pages; `path` is its place in docs/, for its relative links. Every text is a text node; HTML is left out. */
export function Markdown({ tokens, path }: { tokens: readonly MarkedToken[]; path: readonly string[] }) {
  return joined(tokens, path);
}

/** A page does not change while it is shown: its parts need no keys. */
const joined = (tokens: readonly Token[] = [], path: readonly string[]): ReactNode =>
  createElement(Fragment, null, ...tokens.map((token) => shown(token as MarkedToken, path)));

function shown(token: MarkedToken, path: readonly string[]): ReactNode {
  switch (token.type) {
    case "heading": {
      const Heading = token.depth === 2 ? "h2" : "h3";
      return (
        <Heading id={anchorOf(token.text)} className={`mt-5 mb-1 font-semibold ${token.depth === 2 ? "text-lg" : ""}`}>
          {joined(token.tokens, path)}
        </Heading>
      );
    }
    case "paragraph":
      return <p className="my-2">{joined(token.tokens, path)}</p>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long line.
        <pre className="my-2 overflow-x-auto rounded border border-line bg-surface p-3 font-mono text-sm" tabIndex={0}>
          {token.text}
        </pre>
      );
    case "list":
      return createElement(
        token.ordered ? "ol" : "ul",
        { className: `my-2 pl-6 ${token.ordered ? "list-decimal" : "list-disc"}` },
        ...token.items.map(({ tokens }) => createElement("li", { className: "my-1 [&>p]:my-0" }, joined(tokens, path))),
      );
    case "table":
      return (
        <Table focusable className="my-2">
          <thead>{rowOf(Th, token.header, path)}</thead>
          {createElement("tbody", null, ...token.rows.map((cells) => rowOf(Td, cells, path)))}
        </Table>
      );
    case "strong":
      return <strong className="font-semibold">{joined(token.tokens, path)}</strong>;
    case "em":
      return <em>{joined(token.tokens, path)}</em>;
    case "codespan":
      return <code className="rounded bg-hover px-1 font-mono wrap-anywhere">{token.text}</code>;
    case "link": {
      const href = hrefOf(token.href, path);
      const inner = joined(token.tokens, path);
      return href === null ? (
        inner
      ) : (
        <TextLink href={href} className="underline">
          {inner}
        </TextLink>
      );
    }
    case "text":
      return token.tokens ? joined(token.tokens, path) : token.text;
    case "escape":
      return token.text;
    default:
      return null;
  }
}

const rowOf = (Cell: typeof Td | typeof Th, cells: readonly Tokens.TableCell[], path: readonly string[]) =>
  createElement("tr", null, ...cells.map(({ tokens }) => createElement(Cell, null, joined(tokens, path))));
