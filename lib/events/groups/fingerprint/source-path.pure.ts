import { isValue } from "./words.pure";

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
  const query = rooted.search(/[?#]/);
  const steps = (query < 0 ? rooted : rooted.slice(0, query)).split(/[/\\]/);
  const file = steps.pop();
  if (file === undefined || file === "") return path;
  let from = anchored(steps);
  for (let at = from; at < steps.length; at++) {
    const step = steps[at]!;
    const isRoot = from === at && (isRootName(step) || (at > 0 && NAMED_ROOTS.has(steps[at - 1]!.toLowerCase())));
    if (isRoot || isRelease(step)) from = at + 1;
  }
  let to = steps.length - 1;
  while (to >= from && isRootName(steps[to]!)) to--;
  const folder = to < from ? "" : `${steps[to]}/`;
  const package_ = packageOf(steps);
  return `${package_ === folder ? "" : package_}${folder}${withoutHash(file)}`;
}

const isRootName = (step: string) => /^(?:$|[(.])|:$/.test(step) || ROOTS.has(step.toLowerCase());

/** Behind `node_modules`, or behind the first `src`, `app` or `lib`. */
function anchored(steps: readonly string[]): number {
  const modules = steps.lastIndexOf("node_modules");
  return (modules >= 0 ? modules : steps.findIndex((step) => ANCHORS.has(step.toLowerCase()))) + 1;
}

/** `orders/` of `packages/orders/src/index.js`. */
function packageOf(steps: readonly string[]): string {
  const many = steps.findIndex((step) => MANY.has(step.toLowerCase()));
  const name = many < 0 ? undefined : steps[many + 1];
  return name === undefined || isRelease(name) ? "" : `${name}/`;
}

/** A folder of one release: numbers, dates, digests, `current`, and names with such a part. */
function isRelease(step: string): boolean {
  return step === "current" || step.startsWith("sha256:") || (/[0-9]/.test(step) && isValue(step));
}

/** `worker-3f2a9c1b.js` and `main.DqR8sLkM.chunk.mjs` -> `worker.js`, `main.mjs`: a bundler writes the hash of the content. */
function withoutHash(file: string): string {
  const dot = file.lastIndexOf(".");
  if (dot < 1) return file;
  const stem = file.slice(0, dot).replace(/\.(?:chunk|bundle|min)$/, "");
  const ending = file.slice(dot);
  const cut = Math.max(stem.lastIndexOf("-"), stem.lastIndexOf("."), stem.lastIndexOf("_"));
  if (cut > 0 && isHash(stem.slice(cut + 1))) return stem.slice(0, cut) + ending;
  return isHash(stem) || /^[0-9]+$/.test(stem) ? `<id>${ending}` : file;
}

function isHash(part: string): boolean {
  if (!/^[A-Za-z0-9]{6,}$/.test(part)) return false;
  if (/[0-9]/.test(part)) return isValue(part) && !/^[a-z]{4,}[0-9]{1,4}$/.test(part);
  return part.length <= 10 && /[a-z][A-Z]+[a-z]+[A-Z]|[A-Z]{2,}[a-z]+[A-Z]|[A-Z]{2}$/.test(part) && /[a-z]/.test(part);
}
