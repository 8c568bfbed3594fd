import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One route that answers programs: its file, its path with `[name]` for a part that varies, and the methods it exports. */
export type RouteMethods = { file: string; path: string; methods: string[] };

const EXPORTED = /export (?:const|(?:async )?function) (GET|POST|PATCH|PUT|DELETE)\b/g;

/** Every route file below `app` of the checkout, those without a varying part first. `(folder)` is no part of a path. */
export function readRouteMethods(root: string): RouteMethods[] {
  return globSync("app/**/route.ts", { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.includes("[..."))
    .map((file) => ({
      file,
      path: `/${file
        .replace(/^app\//, "")
        .replaceAll(/\(\w+\)\//g, "")
        .replace(/\/?route\.ts$/, "")}`,
      methods: [...readFileSync(join(root, file), "utf8").matchAll(EXPORTED)].map(([, method]) => method!),
    }))
    .sort((left, right) => Number(left.path.includes("[")) - Number(right.path.includes("[")));
}

/** For a path the methods that its route answers, those that every route has included; null for an unknown route. */
export function methodsFinder(routes: readonly RouteMethods[]): (path: string) => string[] | null {
  const known = routes.map(({ path, methods }) => ({
    pattern: new RegExp(`^${path.replace(/\[\w+\]/g, "[^/]+")}/?$`),
    methods: [...(methods.includes("GET") ? ["HEAD"] : []), ...methods, "OPTIONS"],
  }));
  return (path) => known.find(({ pattern }) => pattern.test(path))?.methods ?? null;
}
