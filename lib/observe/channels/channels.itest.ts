import { expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { addChannel, CHANNELS, changeChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");

test("a channel that somebody changed since it was read is not overwritten, and is changed by who does not ask", async () => {
  const deps = { ...world.deps, limits: world.deps.env };
  const config = { kind: "webhook", url: "https://ops.example.com/hook" };
  await addChannel(deps, channelRequestSchema.parse({ name: "ops", config }), ADA);
  const { updatedAt: changedAt } = await CHANNELS.read(world.db, ADA, "ops");
  const change = (severities: ["critical"] | ["warning"], read?: string) =>
    changeChannel(deps, { name: "ops", change: { severities, ...(read && { changedAt: read }) } }, ADA);
  await expect.poll(() => Date.now() > Date.parse(changedAt)).toBe(true);
  await change(["critical"], changedAt);
  await expect(change(["warning"], changedAt)).rejects.toMatchObject({ code: "stale-settings" });
  expect(await CHANNELS.read(world.db, ADA, "ops")).toMatchObject({ severities: ["critical"] });
  await change(["warning"]);
  expect(await CHANNELS.read(world.db, ADA, "ops")).toMatchObject({ severities: ["warning"] });
});
