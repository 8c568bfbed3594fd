# One image, four commands: `web`, `worker`, `migrate`, `backup`. Built on the same files as `npm start`, without a compiler,
# without the embedded PostgreSQL and as an ordinary user.

FROM node:24-bookworm-slim AS build
WORKDIR /app
ENV NEXT_TELEMETRY_DISABLED=1
COPY package.json package-lock.json ./
# No package runs a script of its own: the image has Node, and needs no PostgreSQL.
RUN npm ci --include=dev --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/pack-server.ts --stage /server

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production \
    NEXT_TELEMETRY_DISABLED=1 \
    PORT=3000 \
    PARKADE_HOST=0.0.0.0
# What `parkade serve` runs, too: web, worker and migrations, each bundled, and the modules that the console loads.
COPY --from=build /server ./
COPY scripts/image-entry.sh /usr/local/bin/parkade
# A volume that is mounted here for the first time takes this owner: see PARKADE_ARCHIVE in docker-compose.yml.
RUN install -d -o node -g node -m 750 /archive
USER node
EXPOSE 3000
# Node is the container's first process (through exec) and gets SIGTERM itself.
ENTRYPOINT ["parkade"]
CMD ["web"]
