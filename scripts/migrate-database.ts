import { prepareAppRole, roleOf } from "./app-role.ts";
import { migrate } from "./migrate.ts";
import { runCommand, StartError } from "./start-error.ts";

/** The image's `migrate`: brings DATABASE_URL's database up to date and sets up its role. */
await runCommand(async () => {
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) throw new StartError("DATABASE_URL is not set: give the PostgreSQL to migrate.");
  const ownerUrl = process.env.PARKADE_OWNER_DATABASE_URL || databaseUrl;
  const names = await migrate(ownerUrl);
  if (ownerUrl !== databaseUrl) await prepareAppRole(ownerUrl, roleOf(databaseUrl));
  console.log(names.length > 0 ? `Applied ${names.join(", ")}` : "The database is up to date");
});
