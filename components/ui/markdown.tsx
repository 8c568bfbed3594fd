import { createElement, Fragment, type ReactNode } from "react";
import { type Block, hrefOf, type Span, spansOf } from "@/lib/observe/docs/markdown.pure";
import { Table, Td, Th } from "./table";
import { TextLink } from "./text-link";

/** One of our own pages; `path` is its place in docs/, for its relative links. Every text is a text node. */
export function Markdown({ blocks, path }: { blocks: readonly Block[]; path: readonly string[] }) {
  return joined(blocks.map((block) => shown(block, path)));
}

/** A page does not change while it is shown: its parts need no keys. */
const joined = (parts: readonly ReactNode[]) => createElement(Fragment, null, ...parts);

function shown(block: Block, path: readonly string[]): ReactNode {
  const inline = (text: string) => joined(spansOf(text).map((span) => inlineOf(span, path)));
  switch (block.kind) {
    case "heading": {
      const Heading = block.level === 2 ? "h2" : "h3";
      return (
        <Heading id={block.id} className={`mt-5 mb-1 font-semibold ${block.level === 2 ? "text-lg" : ""}`}>
          {inline(block.text)}
        </Heading>
      );
    }
    case "paragraph":
      return <p className="my-2">{inline(block.text)}</p>;
    case "code":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a long line.
        <pre className="my-2 overflow-x-auto rounded border border-line bg-surface p-3 font-mono text-sm" tabIndex={0}>
          {block.text}
        </pre>
      );
    case "list": {
      const List = block.ordered ? "ol" : "ul";
      const item = (inner: Block[]) => (
        <li className="my-1 [&>p]:my-0">{joined(inner.map((own) => shown(own, path)))}</li>
      );
      return (
        <List className={`my-2 pl-6 ${block.ordered ? "list-decimal" : "list-disc"}`}>
          {joined(block.items.map(item))}
        </List>
      );
    }
    case "table": {
      const head = (text: string) => <Th>{inline(text)}</Th>;
      const cell = (text: string) => <Td>{inline(text)}</Td>;
      const row = (cells: string[]) => <tr>{joined(cells.map(cell))}</tr>;
      return (
        <Table focusable className="my-2">
          <thead>
            <tr>{joined(block.head.map(head))}</tr>
          </thead>
          <tbody>{joined(block.rows.map(row))}</tbody>
        </Table>
      );
    }
  }
}

function inlineOf(span: Span, path: readonly string[]): ReactNode {
  if (span.kind === "text") return span.text;
  if (span.kind === "code") return <code className="rounded bg-hover px-1 font-mono wrap-anywhere">{span.text}</code>;
  const inner = joined(spansOf(span.text).map((own) => (own.kind === "link" ? own.text : inlineOf(own, path))));
  if (span.kind === "link") {
    const href = hrefOf(span.to, path);
    return href === null ? (
      inner
    ) : (
      <TextLink href={href} className="underline">
        {inner}
      </TextLink>
    );
  }
  return span.kind === "strong" ? <strong className="font-semibold">{inner}</strong> : <em>{inner}</em>;
}
