import { hasDigit, isValue } from "./words.pure";

/** Folders where builds, images and deployments put a program. In front of a path they say nothing about its code. */
const ROOTS = new Set(
  "app apps application srv var www html htdocs public_html opt usr local home users root tmp temp workspace workspaces code current releases release builds build dist out output target task runtime data mnt volumes private layers image images project projects repo repos src source sources lib deploy deployed deployments site sites wwwroot web htdocs agent _work s a work runner jenkins .next server esm cjs bundle bundles compiled bin classes main java kotlin scala ruby php python go site-packages .".split(
    " ",
  ),
);
/** The folder behind these is the name of a person, a site, a repository or a release. */
const NAMED_ROOTS = new Set("home users releases www sites builds work deployments __w".split(" "));

const ANCHORS = new Set(["src", "sources", "app", "lib", "www", "htdocs", "httpdocs", "wwwroot", "public_html"]);
/** Folders of a repository with many packages. */
const MANY = new Set("packages services apps libs modules crates components functions lambdas".split(" "));

const SCHEME = /^(?:file|webpack|webpack-internal|app|package|ng|vite|bun|rsc):\/*/;

/**
 * The end of the path of a source file that is the same in every build and on every host: without its root, the folders of a
 * release and the hash of a bundle; at most the file and its folder, and the package of a repository of many.
 */
export function sourcePath(path: string): string {
  const rooted = path.startsWith("/") ? path : path.replace(SCHEME, "/");
  const query = rooted.includes("?") || rooted.includes("#") ? rooted.search(/[?#]/) : rooted.length;
  const clean = rooted.includes("\\") ? rooted.replaceAll("\\", "/") : rooted;
  const steps = clean.slice(0, query).split("/");
  const file = steps.pop();
  if (file === undefined || file === "") return path;
  const lower = clean.toLowerCase();
  const names = lower === clean ? steps : steps.map((step) => step.toLowerCase());
  let from = anchored(names);
  for (let at = from; at < steps.length; at++) {
    const isRoot = from === at && (isRootName(names[at]!) || (at > 0 && NAMED_ROOTS.has(names[at - 1]!)));
    if (isRoot || isRelease(steps[at]!)) from = at + 1;
  }
  let to = steps.length - 1;
  while (to >= from && isRootName(names[to]!)) to--;
  const folder = to < from ? "" : steps[to]!;
  const package_ = packageOf(steps, names);
  return `${package_ === "" || package_ === folder ? "" : `${package_}/`}${folder === "" ? "" : `${folder}/`}${withoutHash(file)}`;
}

const isRootName = (name: string) =>
  name === "" || ROOTS.has(name) || name.startsWith(".") || name.startsWith("(") || name.endsWith(":");

/** The part after `node_modules`, or after the first `src`, `app` or `lib`. */
function anchored(names: readonly string[]): number {
  const modules = names.lastIndexOf("node_modules");
  return (modules >= 0 ? modules : names.findIndex((name) => ANCHORS.has(name))) + 1;
}

/** `orders` of `packages/orders/src/index.js`. */
function packageOf(steps: readonly string[], names: readonly string[]): string {
  const many = names.findIndex((name) => MANY.has(name));
  const name = many < 0 ? undefined : steps[many + 1];
  return name === undefined || isRelease(name) ? "" : name;
}

/** A folder of one release: numbers, dates, digests, `current`, and names with such a part. */
function isRelease(step: string): boolean {
  return step === "current" || step.startsWith("sha256:") || (hasDigit(step) && isValue(step));
}

/** `worker-3f2a9c1b.js` and `main.DqR8sLkM.chunk.mjs` -> `worker.js`, `main.mjs`: without the content hash of a bundler. */
function withoutHash(file: string): string {
  const dot = file.lastIndexOf(".");
  if (dot < 1) return file;
  if (NO_HASH.test(file)) return file;
  const stem = file.slice(0, dot).replace(/\.(?:chunk|bundle|min)$/, "");
  const ending = file.slice(dot);
  const vite = VITE_HASH.exec(stem);
  if (vite !== null && isHash(vite[2]!.replace(/[-_]/g, ""))) return vite[1]! + ending;
  const cut = Math.max(stem.lastIndexOf("-"), stem.lastIndexOf("."), stem.lastIndexOf("_"));
  const hashed = cut > 0 && isHash(stem.slice(cut + 1));
  const name = hashed ? stem.slice(0, cut) : stem;
  if (isHash(name) || /^[0-9]+$/.test(name)) return `<id>${ending}`;
  return hashed ? name + ending : file;
}

/** The hash of Rollup and Vite: eight characters of base 64 for URLs, here with one of its marks. */
const VITE_HASH = /^(.+)[-.](?=[\w-]*[A-Z])(?=\w*[-_])([\w-]{8})$/;

/** No digits, no capitals and no second extension. */
const NO_HASH = /^[a-z_-]+\.[a-z]+$/;

function isHash(part: string): boolean {
  if (!/^[A-Za-z0-9]{6,}$/.test(part)) return false;
  if (/[0-9]/.test(part)) return isValue(part) && !/^[a-z]{4,}[0-9]{1,4}$/.test(part);
  return part.length <= 10 && /[a-z][A-Z]+[a-z]+[A-Z]|[A-Z]{2,}[a-z]+[A-Z]|[A-Z]{2}$/.test(part) && /[a-z]/.test(part);
}
