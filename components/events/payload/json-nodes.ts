import {
  elementsOf,
  endOfValue,
  isArrayAt,
  isObjectAt,
  JsonSyntax,
  membersOf,
  type Span,
  skipSpace,
} from "@/lib/platform/plain/raw-json.pure";

/**
 * A JSON payload as a tree that loses nothing. A node is a place in the bytes and is read when it is opened. Numbers
 * keep every digit, members keep their order and repeated names, and a large payload costs only its visible part.
 */
type JsonKind = "object" | "array" | "string" | "number" | "literal";

export type JsonNode = {
  /** The offset of the value: unique, also when a name occurs twice. */
  id: number;
  /** The name in its object, the index in its array, null for the root. */
  key: string | number | null;
  path: readonly (string | number)[];
  kind: JsonKind;
  span: Span;
  /** The ids from the root to the parent. */
  ancestors: readonly number[];
};

export type JsonDoc = {
  bytes: Uint8Array;
  root: JsonNode;
  /** Nodes already read, by id: opening one node must not read a list of 100,000 entries again. */
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

/** The document, or the reason why the bytes are not JSON. */
export function openJson(bytes: Uint8Array): { doc: JsonDoc; fault: null } | { doc: null; fault: string } {
  try {
    // The scanner below only finds the ends of values; `JSON.parse` decides whether the bytes are JSON.
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

/** The children of an object or array, in their order; none for a scalar. */
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

/** The exact text of a value in the payload. */
export function rawText({ bytes }: JsonDoc, { span }: JsonNode): string {
  return text.decode(bytes.subarray(span.start, span.end));
}

/** A string without its quotes and escapes; every other scalar unchanged. */
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

type TreeRow =
  | { kind: "node"; node: JsonNode; depth: number; open: boolean; children: number | null }
  /** The rest of a long list, not shown yet. */
  | { kind: "more"; parent: JsonNode; depth: number; hidden: number };

/** Children shown at first; a click shows the rest. A list of 100,000 must not freeze the page. */
export const CHILDREN_STEP = 200;

/** The rows of the tree when `open` nodes are open. `limits`: children to show of a node beyond the step. */
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

/** The nodes that are open at first: level by level, until about `budget` rows are visible. */
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

/** More matches than this do not help a reader. */
export const MATCHES_MAX = 1_000;

/** Nodes whose name or scalar contains the text, in the order of the document, at most `MATCHES_MAX`. */
export function findNodes(doc: JsonDoc, words: string): JsonNode[] {
  const wanted = words.toLowerCase();
  const found: JsonNode[] = [];
  const stack = [doc.root];
  while (found.length < MATCHES_MAX) {
    const node = stack.pop();
    if (!node) break;
    const inKey = typeof node.key === "string" && node.key.toLowerCase().includes(wanted);
    if (inKey || (!isContainer(node) && scalarText(doc, node).toLowerCase().includes(wanted))) found.push(node);
    // A spread of 100,000 arguments would overflow the stack.
    for (const child of childrenOf(doc, node).toReversed()) stack.push(child);
  }
  return found;
}

/** The limits that make a node visible, even if it stands after the first children of a long list. */
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
