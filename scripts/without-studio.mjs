// Loaded before Prisma's command line (`node --import`): its studio and its local databases are not installed for a start,
// and `generate` uses neither, yet the command line reads them first.
import { registerHooks } from "node:module";

registerHooks({
  resolve: (name, context, next) =>
    /^@prisma\/(dev|studio-core)\//.test(name)
      ? { url: "node:util", format: "builtin", shortCircuit: true }
      : next(name, context),
});
