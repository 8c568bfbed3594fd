# One image, three commands: `web`, `worker`, `migrate`. Built on the same files as `npm start`, without a compiler,
# without the embedded PostgreSQL and as an ordinary user.

FROM node:24-bookworm-slim AS build
WORKDIR /app
ENV NEXT_TELEMETRY_DISABLED=1 PARKADE_STANDALONE=1
COPY package.json package-lock.json ./
RUN npm ci --include=dev --no-audit --no-fund
COPY . .
# Next traces its picture library although it is switched off; it is a third of the size.
RUN npm run build && mkdir -p public && rm -rf .next/standalone/node_modules/sharp .next/standalone/node_modules/@img

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production \
    NEXT_TELEMETRY_DISABLED=1 \
    PORT=3000 \
    PARKADE_HOST=0.0.0.0
# What Next traced as needed by the console: its own node_modules, nothing else.
COPY --from=build /app/.next/standalone ./
COPY --from=build /app/.next/static ./.next/static
COPY --from=build /app/public ./public
# Web, worker and migration runner, each bundled with what it imports.
COPY --from=build /app/dist ./dist
COPY --from=build /app/prisma/migrations ./prisma/migrations
COPY scripts/image-entry.sh /usr/local/bin/parkade
USER node
EXPOSE 3000
# Node is the container's first process (through exec) and gets SIGTERM itself.
ENTRYPOINT ["parkade"]
CMD ["web"]
