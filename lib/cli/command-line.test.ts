import { describe, expect, it, test } from "vitest";
import { FILTER_NAMES, NOT_NAMES } from "@/lib/selection/filter/filter-params.shapes";
import { FILTER_OPTIONS, NOT_OPTIONS, optionsOf, UsageError } from "./command";
import { readCommandLine } from "./command-line";
import { COMMANDS } from "./command-table";

const read = (text: string) => readCommandLine(text.split(" "))!;

describe("the table", () => {
  test("has each command once", () => {
    const names = COMMANDS.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  test("has the names of the API's filter, and no others", () => {
    expect(FILTER_OPTIONS.map(({ name }) => name)).toEqual([...FILTER_NAMES, "tag.<key>", "not.<name>"]);
    expect(NOT_OPTIONS.map(({ name }) => name)).toEqual(NOT_NAMES);
  });

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    "%s: no option has two meanings",
    (_, command) => {
      const names = [...optionsOf(command), ...(command.filter ? FILTER_OPTIONS : [])].map(({ name }) => name);
      const own = (command.options ?? []).map(({ name }) => name);
      // `show --source` names the source of one event.
      expect([...new Set(names)]).toEqual(names);
      expect(own).not.toContain("json");
    },
  );

  test.each(COMMANDS.flatMap(({ name, examples }) => examples.map((example) => [name, example] as const)))(
    "the example of %s is a command line: %s",
    (name, example) => {
      const [, line = ""] = /parkade ([^|<>)]*)/.exec(example)!;
      const words = [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
      expect(readCommandLine(words)?.command.name).toBe(name);
    },
  );
});

it("reads the filter as the query string that the API takes", () => {
  const { filter } = read("search --source a --source b --tag.order.id=7 --tag.order.id 8 --from -24h --limit 7");
  expect(filter.toString()).toBe("source=a&source=b&from=-24h&tag.order.id=7&tag.order.id=8");
  const excluding = read("search --not.errorCode A --not.errorCode=B --not.status IGNORED --not.tag.order.id=7").filter;
  expect(excluding.toString()).toBe("not.errorCode=A&not.errorCode=B&not.status=IGNORED&not.tag.order.id=7");
  expect(() => read("search --not.from -1h")).toThrow(UsageError);
  expect(() => read("search --not.status GONE")).toThrow("--not.status must be one of");
});

it.each([
  ["--from -24h", "-24h"],
  ["--from=-24h", "-24h"],
  ["--from now-24h", "now-24h"],
])("takes a relative time that begins with a dash: %s", (words, from) => {
  expect(read(`tail ${words}`).filter.get("from")).toBe(from);
});

it("takes the options of every command before it as well", () => {
  const line = read("--url http://a:1 --json source add orders --kind http");
  expect([line.command.name, line.arguments, line.text("url"), line.flag("json"), line.text("kind")]).toEqual([
    "source add",
    ["orders"],
    "http://a:1",
    true,
    "http",
  ]);
});

it.each([
  ["serch", 'There is no command "serch": parkade --help lists them'],
  ["source", "source needs one of list, add, probe, set, pause, drain, stop, resume"],
  ["search --erorCode X", "Unknown option '--erorCode'"],
  ["search x", '"x" is not expected here'],
  ["show", "id is missing"],
  ["search --status DONE", "--status must be one of PENDING"],
  ["search --limit 0", "--limit must be a whole number above 0"],
  ["search --limit 1e3", "--limit must be a whole number above 0"],
  ["redrive --all --reason x --rate 0.0", "--rate must be a number above 0"],
  ["redrive --all --reason x --rate 1/s", "--rate must be a number above 0"],
  ["search --q", "Option '--q <value>' argument missing"],
  ["search --q=", "--q is empty"],
  ["search --q a --q b", "--q is given twice"],
  ["redrive --source a", "--reason is missing"],
  ["redrive --source a --reason= ", "--reason is empty"],
  ["redrive --source a --json=1 --reason x", "Option '--json' takes no value"],
  ["completion fish", "shell must be one of bash, zsh"],
  ["show x --source a --eventType b", "Unknown option '--eventType'"],
])("refuses %s", (words, message) => {
  const refused = () => read(words.trimEnd());
  expect(refused).toThrow(UsageError);
  expect(refused).toThrow(message);
});

it("reads a rate below one", () => {
  expect(read("redrive --all --reason x --rate 0.5").number("rate")).toBe(0.5);
});

it("needs no reason to look first", () => {
  expect(read("redrive --source a --preview").flag("preview")).toBe(true);
});

it("is no command without words, and asks nothing of the other words beside --help", () => {
  expect(readCommandLine([])).toBeNull();
  expect(readCommandLine(["--json"])).toBeNull();
  expect(read("redrive --help").flag("help")).toBe(true);
});
