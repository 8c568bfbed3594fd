import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "./stages.ts";

type Service = {
  image?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  command?: string | string[];
  profiles?: string[];
  ports?: string[];
  volumes?: string[];
  networks?: { default?: { aliases: string[] } };
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  environment?: Record<string, string>;
};

const text = (path: string) => readFileSync(join(ROOT, path), "utf8");
const { services }: { services: Record<string, Service> } = parse(text("docker-compose.yml"), { merge: true });

describe("docker-compose.yml", () => {
  test("runs the versions of the brokers that the tests run", () => {
    const jars = (name: string) => /<version>(\d+\.\d+\.\d+)</.exec(text(`scripts/test-servers/${name}.pom.xml`))![1];
    expect(services.kafka!.image).toBe(`apache/kafka:${jars("kafka")}`);
    expect(services.sqs!.image).toBe(`softwaremill/elasticmq-native:${jars("elasticmq")}`);
    expect(services.artemis!.image).toBe(`apache/activemq-artemis:${jars("artemis")}`);
  });

  test("runs Prometheus and Grafana by their profile, with the files of docs/monitoring", () => {
    const monitoring = Object.entries(services).filter(([, service]) => service.profiles?.includes("monitoring"));
    expect(monitoring.map(([name]) => name)).toEqual(["prometheus", "grafana"]);
    const mounted = monitoring.flatMap(([, { volumes = [] }]) => volumes.filter((volume) => volume.startsWith("./")));
    expect(mounted).toHaveLength(5);
    expect(mounted.filter((volume) => !existsSync(join(ROOT, volume.split(":")[0]!)))).toEqual([]);
    const [scraped] = parse(text("docs/monitoring/prometheus.yml")).scrape_configs[0].static_configs[0].targets;
    expect(`${services.web!.networks!.default!.aliases[0]}:3000`).toBe(scraped);
    expect(services.web!.environment!.PARKADE_ALLOWED_HOSTS!.split(",")[0]).toBe(scraped);
  });

  test("names a full version of each other image, and publishes no port twice", () => {
    const brokers = Object.values(services).filter((service) => service.profiles);
    expect(brokers.map(({ image }) => image).filter((image) => !/:v?\d+\.\d+\.\d+(-\w+)?$/.test(image!))).toEqual([]);
    const ports = brokers.flatMap((service) => service.ports ?? []).map((port) => port.split(":")[1]);
    expect(new Set(ports).size).toBe(ports.length);
  });

  test("checks the health of everything that stays", () => {
    const unchecked = Object.entries(services).filter(([name, service]) => name !== "migrate" && !service.healthcheck);
    expect(unchecked.map(([name]) => name)).toEqual([]);
  });

  test("starts web and worker only on a migrated database", () => {
    for (const name of ["web", "worker"]) {
      expect(services[name]!.depends_on).toMatchObject({ migrate: { condition: "service_completed_successfully" } });
    }
    expect(services.migrate!.depends_on).toMatchObject({ postgres: { condition: "service_healthy" } });
  });

  test("publishes ports on this machine only, for there is no sign-in", () => {
    const published = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(published.length).toBeGreaterThan(0);
    expect(published.filter((port) => !port.startsWith("127.0.0.1:"))).toEqual([]);
  });

  test("has no password of its own, and gives web and worker a role that does not own the database", () => {
    const passwords = JSON.stringify(services).match(/\$\{[A-Z_]*PASSWORD\b[^}]*\}/g) ?? [];
    expect(passwords.length).toBeGreaterThan(3);
    expect(passwords.filter((text) => !/:\?|:-\$\{PARKADE_APP_PASSWORD\}/.test(text))).toEqual([]);
    for (const name of ["web", "worker"]) {
      expect(services[name]!.environment!.DATABASE_URL).toContain("//parkade_app:");
      expect(services[name]!.environment).not.toHaveProperty("PARKADE_OWNER_DATABASE_URL");
    }
    expect(services.migrate!.environment!.PARKADE_OWNER_DATABASE_URL).toContain("//parkade:");
  });

  test.each(["web", "worker", "migrate"])("gives %s no file system to write and no capability", (name) => {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
  });

  test("runs a Redis that never evicts", () => {
    expect(services.redis!.command).toEqual(expect.arrayContaining(["--maxmemory-policy", "noeviction"]));
  });
});

describe("Dockerfile", () => {
  test("runs on Node 24 as an ordinary user", () => {
    const lines = text("Dockerfile").split("\n");
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));
    expect(last[0]).toMatch(/^FROM node:24/);
    expect(last).toContain("USER node");
  });

  test("installs the lockfile's packages, without their scripts", () => {
    const installs = text("Dockerfile").match(/^RUN npm .*$/gm) ?? [];
    expect(installs).not.toEqual([]);
    for (const line of installs) expect(line).toMatch(/^RUN npm ci .*--ignore-scripts/);
  });

  test("copies from the clone only what is there", () => {
    const copied = text("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm);
    const missing = [...copied]
      .flatMap(([, paths]) => paths!.split(" "))
      .filter((path) => !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  test("has a command for each service that runs the image", () => {
    const entry = text("scripts/image-entry.sh");
    for (const name of ["web", "worker", "migrate"]) {
      expect(services[name]!.command).toEqual([name]);
      expect(entry).toMatch(new RegExp(`^  (.*\\| )?${name}( \\||\\))`, "m"));
    }
  });
});
