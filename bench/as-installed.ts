/**
 * Handlers in the process of a bench answer as those of an installation do: outside of production each answer is checked
 * against its schema, which costs more than the answer. Imported before the handlers.
 */
Object.assign(process.env, { NODE_ENV: "production" });
