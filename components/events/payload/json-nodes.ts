import {
  elementsOf,
  endOfValue,
  isArrayAt,
  isObjectAt,
  JsonSyntax,
  membersOf,
  type Span,
  skipSpace,
} from "@/lib/contract/raw-json";

/**
 * A JSON payload as a tree that loses nothing: nodes are places in the bytes, read when they are opened. Numbers keep
 * every digit, members their order and their doubles, and a megabyte costs only what is on screen.
 */
type JsonKind = "object" | "array" | "string" | "number" | "literal";

export type JsonNode = {
  /** Offset of the value: unique, also where a name is there twice. */
  id: number;
  /** Name in its object, index in its array, null for the root. */
  key: string | number | null;
  path: readonly (string | number)[];
  kind: JsonKind;
  span: Span;
  /** Ids from the root down to its parent. */
  ancestors: readonly number[];
};

export type JsonDoc = {
  bytes: Uint8Array;
  root: JsonNode;
  /** What was read already, by id: opening one node must not read a list of a hundred thousand again. */
  read: Map<number, readonly JsonNode[]>;
};

const QUOTE = 0x22;
const MINUS = 0x2d;
const text = new TextDecoder();

function kindAt(bytes: Uint8Array, at: number): JsonKind {
  if (isObjectAt(bytes, at)) return "object";
  if (isArrayAt(bytes, at)) return "array";
  const byte = bytes[at] ?? 0;
  if (byte === QUOTE) return "string";
  return byte === MINUS || (byte >= 0x30 && byte <= 0x39) ? "number" : "literal";
}

/** The document, or why it is none. */
export function openJson(bytes: Uint8Array): { doc: JsonDoc; fault: null } | { doc: null; fault: string } {
  try {
    // The scanner below only finds ends; whether it is JSON at all is the parser's word.
    JSON.parse(text.decode(bytes));
    const start = skipSpace(bytes, 0);
    const span = { start, end: endOfValue(bytes, start) };
    return {
      doc: {
        bytes,
        read: new Map(),
        root: { id: start, key: null, path: [], kind: kindAt(bytes, start), span, ancestors: [] },
      },
      fault: null,
    };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonSyntax) return { doc: null, fault: error.message };
    throw error;
  }
}

function isContainer(node: JsonNode): boolean {
  return node.kind === "object" || node.kind === "array";
}

/** What lies directly in an object or array, in its order; none for a scalar. */
export function childrenOf(doc: JsonDoc, node: JsonNode): readonly JsonNode[] {
  if (!isContainer(node)) return [];
  const known = doc.read.get(node.id);
  if (known) return known;
  const children = readChildren(doc.bytes, node);
  doc.read.set(node.id, children);
  return children;
}

function readChildren(bytes: Uint8Array, node: JsonNode): JsonNode[] {
  const ancestors = [...node.ancestors, node.id];
  const child = (key: string | number, span: Span): JsonNode => ({
    id: span.start,
    key,
    path: [...node.path, key],
    kind: kindAt(bytes, span.start),
    span: { start: span.start, end: span.end },
    ancestors,
  });
  return node.kind === "object"
    ? membersOf(bytes, node.span.start, Number.POSITIVE_INFINITY)!.map((member) => child(member.key, member))
    : elementsOf(bytes, node.span.start).map((span, index) => child(index, span));
}

/** The exact text of a value as it stands in the payload. */
export function rawText({ bytes }: JsonDoc, { span }: JsonNode): string {
  return text.decode(bytes.subarray(span.start, span.end));
}

/** A string without its quotes and escapes; every other scalar as it stands. */
export function scalarText(doc: JsonDoc, node: JsonNode): string {
  const raw = rawText(doc, node);
  return node.kind === "string" ? (JSON.parse(raw) as string) : raw;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** JSONPath: `$.lines[2].quantity`, `$["odd key"]`. */
export function pathText(path: JsonNode["path"]): string {
  return path.reduce<string>((soFar, key) => {
    if (typeof key === "number") return `${soFar}[${key}]`;
    return PLAIN_NAME.test(key) ? `${soFar}.${key}` : `${soFar}[${JSON.stringify(key)}]`;
  }, "$");
}

export type TreeRow =
  | { kind: "node"; node: JsonNode; depth: number; open: boolean; children: number | null }
  /** The rest of a long list, not shown yet. */
  | { kind: "more"; parent: JsonNode; depth: number; hidden: number };

/** Children shown at once; the rest is one click away. A list of 100,000 must not freeze the page. */
export const CHILDREN_STEP = 200;

/** The rows of the tree with some containers open. `limits`: children to show of a container beyond the step. */
export function treeRows(doc: JsonDoc, open: ReadonlySet<number>, limits: ReadonlyMap<number, number>): TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (node: JsonNode, depth: number) => {
    if (!isContainer(node)) {
      rows.push({ kind: "node", node, depth, open: false, children: null });
      return;
    }
    const children = childrenOf(doc, node);
    const isOpen = open.has(node.id) && children.length > 0;
    rows.push({ kind: "node", node, depth, open: isOpen, children: children.length });
    if (!isOpen) return;
    const limit = limits.get(node.id) ?? CHILDREN_STEP;
    for (const child of children.slice(0, limit)) visit(child, depth + 1);
    if (children.length > limit)
      rows.push({ kind: "more", parent: node, depth: depth + 1, hidden: children.length - limit });
  };
  visit(doc.root, 0);
  return rows;
}

/** Containers open at first: level by level, until about `budget` rows would show. */
export function openedAtFirst(doc: JsonDoc, budget: number): Set<number> {
  const open = new Set<number>();
  let shown = 1;
  let level = [doc.root].filter(isContainer);
  while (level.length > 0) {
    const next: JsonNode[] = [];
    for (const node of level) {
      const children = childrenOf(doc, node);
      if (shown + Math.min(children.length, CHILDREN_STEP) > budget && open.size > 0) return open;
      shown += Math.min(children.length, CHILDREN_STEP);
      open.add(node.id);
      next.push(...children.slice(0, CHILDREN_STEP).filter(isContainer));
    }
    level = next;
  }
  return open;
}

/** Finding more says nothing more to a reader. */
export const MATCHES_MAX = 1_000;

/** Nodes whose name or scalar holds the words, in the order of the document, at most `MATCHES_MAX`. */
export function findNodes(doc: JsonDoc, words: string): JsonNode[] {
  const wanted = words.toLowerCase();
  const found: JsonNode[] = [];
  const stack = [doc.root];
  while (found.length < MATCHES_MAX) {
    const node = stack.pop();
    if (!node) break;
    const inKey = typeof node.key === "string" && node.key.toLowerCase().includes(wanted);
    if (inKey || (!isContainer(node) && scalarText(doc, node).toLowerCase().includes(wanted))) found.push(node);
    // Not spread into a call: a list of a hundred thousand would overflow the stack.
    for (const child of childrenOf(doc, node).toReversed()) stack.push(child);
  }
  return found;
}

/** Limits that make a node visible though it lies beyond the first children of a long list. */
export function limitsFor(doc: JsonDoc, node: JsonNode, limits: ReadonlyMap<number, number>): Map<number, number> {
  const next = new Map(limits);
  let parent = doc.root;
  for (const [depth, key] of node.path.entries()) {
    const children = childrenOf(doc, parent);
    const id = node.ancestors[depth + 1] ?? node.id;
    const index = children.findIndex((child) => child.id === id);
    const child = children[index];
    if (!child) throw new Error(`the path of a found node ends at ${String(key)}`);
    if (index >= (next.get(parent.id) ?? CHILDREN_STEP)) next.set(parent.id, index + CHILDREN_STEP);
    parent = child;
  }
  return next;
}
