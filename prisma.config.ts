import { defineConfig } from "prisma/config";

const UNFIT = /^(dev|diff|push)$/;

if (process.argv.some((word) => UNFIT.test(word))) {
  throw new Error("schema.prisma holds only the tables of the client: write a migration in SQL, see CONTRIBUTING.md.");
}

/** The CLI reads DATABASE_URL itself, and only `migrate` needs it: `generate` works without any database. */
export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations" },
  datasource: { url: process.env.DATABASE_URL ?? "" },
});
