import { defineConfig } from "prisma/config";

/** The CLI reads DATABASE_URL itself, and only `migrate` needs it: `generate` works without any database. */
export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations" },
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
