import { describe, expect, it } from "vitest";
import {
  CHILDREN_STEP,
  childrenOf,
  findNodes,
  type JsonDoc,
  limitsFor,
  MATCHES_MAX,
  openedAtFirst,
  openJson,
  pathText,
  rawText,
  scalarText,
  treeRows,
} from "./json-nodes";

function doc(json: string): JsonDoc {
  const { doc: opened, fault } = openJson(new TextEncoder().encode(json));
  if (!opened) throw new Error(fault);
  return opened;
}

const none = new Map<number, number>();

describe("the tree loses nothing", () => {
  it("keeps every digit and the form of a number", () => {
    const tree = doc("[12345678901234567890123, 10.00, 1e400, -0, 1E+2]");
    expect(childrenOf(tree, tree.root).map((node) => rawText(tree, node))).toEqual([
      "12345678901234567890123",
      "10.00",
      "1e400",
      "-0",
      "1E+2",
    ]);
  });

  it("keeps the order of members, doubles, and names that objects treat specially", () => {
    const tree = doc('{"2":"b","1":"a","__proto__":{"x":1},"a":1,"a":2}');
    expect(childrenOf(tree, tree.root).map((node) => node.key)).toEqual(["2", "1", "__proto__", "a", "a"]);
    expect(new Set(childrenOf(tree, tree.root).map((node) => node.id)).size).toBe(5);
  });

  it("decodes strings and shows other scalars as they stand", () => {
    const tree = doc('["Li\\u00e9ge\\n\\"x\\"", null, true, "日本"]');
    expect(childrenOf(tree, tree.root).map((node) => scalarText(tree, node))).toEqual([
      'Liége\n"x"',
      "null",
      "true",
      "日本",
    ]);
  });
});

describe("treeRows", () => {
  it("shows what is open, with depth and number of children", () => {
    const tree = doc('{"a":{"b":[1,2]},"c":3}');
    const all = openedAtFirst(tree, 100);
    expect(
      treeRows(tree, all, none).map((row) =>
        row.kind === "node"
          ? `${row.depth} ${row.node.key ?? "$"} ${row.children ?? rawText(tree, row.node)}`
          : row.kind,
      ),
    ).toEqual(["0 $ 2", "1 a 1", "2 b 2", "3 0 1", "3 1 2", "1 c 3"]);
    expect(treeRows(tree, new Set(), none)).toHaveLength(1);
  });

  it("cuts long lists and says how many are left", () => {
    const tree = doc(JSON.stringify(Array.from({ length: CHILDREN_STEP + 7 }, (_, index) => index)));
    const rows = treeRows(tree, new Set([tree.root.id]), none);
    expect(rows).toHaveLength(1 + CHILDREN_STEP + 1);
    expect(rows.at(-1)).toMatchObject({ kind: "more", hidden: 7 });
  });

  it("opens only as many levels at first as fit, but always the root", () => {
    const wide = doc(JSON.stringify({ list: Array.from({ length: 150 }, () => ({ x: 1 })) }));
    expect(treeRows(wide, openedAtFirst(wide, 40), none)).toHaveLength(2);
    const long = doc(JSON.stringify(Array.from({ length: 150 }, () => 1)));
    expect(treeRows(long, openedAtFirst(long, 40), none)).toHaveLength(151);
  });
});

describe("findNodes", () => {
  it("finds names and values in the order of the document, whatever their case", () => {
    const tree = doc('{"Sku":"A-1","lines":[{"sku":"b"},{"note":"the SKU"}],"big":12345678901234567890123}');
    expect(findNodes(tree, "sku").map((node) => pathText(node.path))).toEqual([
      "$.Sku",
      "$.lines[0].sku",
      "$.lines[1].note",
    ]);
    expect(findNodes(tree, "890123").map((node) => pathText(node.path))).toEqual(["$.big"]);
  });

  it("leads to nodes beyond the first children of a long list", () => {
    const tree = doc(JSON.stringify({ list: [...Array.from({ length: CHILDREN_STEP + 50 }, () => 0), "needle"] }));
    const found = findNodes(tree, "needle")[0]!;
    const rows = treeRows(tree, new Set(found.ancestors), limitsFor(tree, found, none));
    expect(rows.some((row) => row.kind === "node" && row.node.id === found.id)).toBe(true);
  });
});

it("searches a list of a hundred thousand and stops at the most that is worth showing", () => {
  const tree = doc(JSON.stringify(Array.from({ length: 150_000 }, (_, index) => index)));
  expect(findNodes(tree, "149999").map((node) => pathText(node.path))).toEqual(["$[149999]"]);
  expect(findNodes(tree, "1")).toHaveLength(MATCHES_MAX);
});
