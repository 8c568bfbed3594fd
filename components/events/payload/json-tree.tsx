"use client";

import { ChevronDown, ChevronRight } from "lucide-react";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { MaskedText } from "@/components/guard/masking/masked-text";
import { classNames } from "@/components/ui/class-names";
import { CopyButton } from "@/components/ui/copy-button";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import {
  CHILDREN_STEP,
  type JsonDoc,
  type JsonNode,
  limitsFor,
  openedAtFirst,
  pathText,
  rawText,
  scalarText,
  treeRows,
} from "./json-nodes";

/** The number of rows visible at first: about two screens. */
const FIRST_ROWS = 80;
/** A longer string is cut; a click shows the rest. */
const STRING_CHARS = 400;

function StringValue({ value }: { value: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && value.length > STRING_CHARS;
  return (
    <span className="wrap-anywhere whitespace-pre-wrap">
      <span className="text-faint">"</span>
      <bdi>
        <MaskedText text={cut ? value.slice(0, STRING_CHARS).toWellFormed() : value} />
      </bdi>
      {cut ? (
        <button type="button" onClick={() => setWhole(true)} className="text-accent hover:underline">
          … {formatNumber(value.length - STRING_CHARS)} more characters
        </button>
      ) : (
        <span className="text-faint">"</span>
      )}
    </span>
  );
}

function Summary({ node, count, open }: { node: JsonNode; count: number; open: boolean }) {
  const [left, right] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (count === 0) return <span className="text-faint">{left + right}</span>;
  const noun = node.kind === "object" ? (count === 1 ? "member" : "members") : count === 1 ? "element" : "elements";
  return (
    <span className="text-faint">
      {left}
      {open ? null : ` … ${right}`}
      <span className="pl-2 font-sans text-xs">
        {formatNumber(count)} {noun}
      </span>
    </span>
  );
}

const NodeRow = memo(function NodeRow({
  doc,
  node,
  depth,
  open,
  count,
  match,
  onToggle,
}: {
  doc: JsonDoc;
  node: JsonNode;
  depth: number;
  open: boolean;
  count: number | null;
  match: "current" | "match" | null;
  onToggle: (id: number) => void;
}) {
  const label = node.key === null ? null : String(node.key);
  const head = (
    <>
      {label === null ? null : (
        <>
          <bdi className="text-muted">{visible(label)}</bdi>
          <span className="text-faint">: </span>
        </>
      )}
    </>
  );
  return (
    <li
      data-node={node.id}
      style={{ paddingLeft: 20 + depth * 16 }}
      className={classNames(
        "group relative flex min-h-6 items-start pr-16 leading-6 hover:bg-hover",
        match !== null && "bg-selected",
        match === "current" && "outline outline-accent",
      )}
    >
      {count !== null && count > 0 ? (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => onToggle(node.id)}
          className="-ml-4.5 flex min-h-6 min-w-0 text-left"
        >
          <span aria-hidden className="mt-1.5 w-4.5 shrink-0 text-faint">
            {open ? <ChevronDown size={12} /> : <ChevronRight size={12} />}
          </span>
          <span>
            {head}
            <Summary node={node} count={count} open={open} />
          </span>
        </button>
      ) : (
        <span className="min-w-0">
          {head}
          {count === 0 ? (
            <Summary node={node} count={0} open={false} />
          ) : node.kind === "string" ? (
            <StringValue value={scalarText(doc, node)} />
          ) : (
            <span className={classNames("wrap-anywhere", node.kind === "literal" && "text-muted italic")}>
              {rawText(doc, node)}
            </span>
          )}
        </span>
      )}
      <span className="absolute top-0 right-1 flex h-6 items-center opacity-0 group-hover:opacity-100 focus-within:opacity-100">
        <CopyButton
          text={() => pathText(node.path)}
          label={`path ${pathText(node.path)}`}
          className="px-1! font-sans text-xs"
        >
          path
        </CopyButton>
        <CopyButton
          text={() => (node.kind === "string" ? scalarText(doc, node) : rawText(doc, node))}
          label="value"
          className="px-1!"
        />
      </span>
    </li>
  );
});

/** The payload as a tree. Nodes in `matches` are opened and marked; the current match is scrolled into view. */
export function JsonTree({ doc, matches, current }: { doc: JsonDoc; matches: JsonNode[]; current: number }) {
  const list = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState(() => openedAtFirst(doc, FIRST_ROWS));
  const [limits, setLimits] = useState<Map<number, number>>(() => new Map());

  const target = matches[current];
  const [shown, setShown] = useState<JsonNode | undefined>();
  if (target && target !== shown) {
    setShown(target);
    setOpen((now) => new Set([...now, ...target.ancestors]));
    setLimits((now) => limitsFor(doc, target, now));
  }
  useEffect(() => {
    if (!shown) return;
    list.current?.querySelector(`[data-node="${shown.id}"]`)?.scrollIntoView({ block: "center" });
  }, [shown]);

  const [toggle] = useState(() => (id: number) => {
    setOpen((now) => {
      const next = new Set(now);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  });
  const marked = useMemo(() => new Set(matches.map((node) => node.id)), [matches]);
  const rows = useMemo(() => treeRows(doc, open, limits), [doc, open, limits]);

  return (
    <ul ref={list} aria-label="Payload" className="py-1 font-mono text-sm">
      {rows.map((row) =>
        row.kind === "node" ? (
          <NodeRow
            key={row.node.id}
            doc={doc}
            node={row.node}
            depth={row.depth}
            open={row.open}
            count={row.children}
            match={row.node.id === target?.id ? "current" : marked.has(row.node.id) ? "match" : null}
            onToggle={toggle}
          />
        ) : (
          <li key={`more-${row.parent.id}`} style={{ paddingLeft: 20 + row.depth * 16 }} className="leading-6">
            <button
              type="button"
              className="min-h-6 text-accent hover:underline"
              onClick={() =>
                setLimits((now) =>
                  new Map(now).set(row.parent.id, (now.get(row.parent.id) ?? CHILDREN_STEP) + 5 * CHILDREN_STEP),
                )
              }
            >
              {formatNumber(row.hidden)} more
            </button>
          </li>
        ),
      )}
    </ul>
  );
}
