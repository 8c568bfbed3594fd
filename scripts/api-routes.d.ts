/** Made by scripts/build.ts for the bundle of the web server. */
declare module "parkade:api-routes" {
  export const makeSetupLinkAtStart: (signal: AbortSignal) => Promise<string | null>;
  export const API_ROUTES: import("./api-dispatch.ts").ApiRoute[];
}
