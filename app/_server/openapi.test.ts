import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { documentedRoutes, openapiDocument } from "./openapi";

const routes = globSync("app/{api,ops,metrics,healthz,readyz}/**/route.ts").flatMap((file) => {
  const path = `/${file.replace(/^app\//, "").replace(/\/?route\.ts$/, "")}`.replace(/\[(\w+)\]/g, "{$1}");
  const methods = [
    ...readFileSync(file, "utf8").matchAll(/export (?:const|(?:async )?function) (GET|POST|PATCH|PUT|DELETE)\b/g),
  ];
  return methods.map(([, method]) => `${method} ${path}`);
});

test("documents each route of the API, and none that is not there", () => {
  const undocumented = ["GET /api/v1/openapi.json"];
  const known = routes.filter((route) => !undocumented.includes(route));
  expect([...documentedRoutes()].sort()).toEqual(known.sort());
});

test("takes request bodies from the schemas that parse them", () => {
  const document = JSON.parse(JSON.stringify(openapiDocument())) as {
    paths: Record<
      string,
      Record<string, { requestBody: { content: Record<string, { schema: { required: string[] } }> } }>
    >;
  };
  const schema = document.paths["/api/v1/events"]!.post!.requestBody.content["application/json"]!.schema;
  expect(schema.required).toEqual(["source", "eventId", "errorCode"]);
});
