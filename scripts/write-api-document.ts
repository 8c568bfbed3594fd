import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { openapiDocument } from "@/app/_server/openapi/openapi";
import { ROUTES } from "@/app/routes";

/** Writes the API's document into the file that the argument names: `node --import tsx`, since it reads the handlers. */
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("Name the file to write");
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, `${JSON.stringify(await openapiDocument(ROUTES), null, 2)}\n`);
