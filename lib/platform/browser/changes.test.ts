import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { beforeEach, expect, test } from "vitest";
import { answeredAtMs, noteChanges, unlessUnchanged } from "./changes.browser";

let reads = 0;
let client: QueryClient;
let poll: () => Promise<unknown>;

beforeEach(async () => {
  reads = 0;
  client = new QueryClient();
  noteChanges("a");
  const observer = new QueryObserver<number>(client, {
    queryKey: ["list"],
    queryFn: async () => ++reads,
    persister: unlessUnchanged,
    retry: false,
  });
  observer.subscribe(() => {});
  poll = () => observer.refetch();
  await poll();
  expect(reads).toBe(1);
});

test("a poll reads nothing while nothing has changed, and reads after a change", async () => {
  await poll();
  expect(reads).toBe(1);
  noteChanges("b");
  await poll();
  await poll();
  expect(reads).toBe(2);
});

test("what the console has changed is read at once", async () => {
  await client.invalidateQueries({ queryKey: ["list"] });
  expect(reads).toBe(2);
});

test("everything is read while the server has not said whether something has changed", async () => {
  noteChanges(null);
  await poll();
  await poll();
  expect(reads).toBe(3);
});

test("an answer that polls repeat from the cache keeps the time at which it came", async () => {
  const observer = new QueryObserver<object>(client, {
    queryKey: ["held"],
    queryFn: async () => ({ leftMs: 5_000 }),
    persister: unlessUnchanged,
    retry: false,
  });
  observer.subscribe(() => {});
  const { data: first } = await observer.refetch();
  expect(answeredAtMs(first!, 1_000)).toBe(1_000);
  const { data: again } = await observer.refetch();
  expect(answeredAtMs(again!, 4_000)).toBe(1_000);
  noteChanges("b");
  client.setQueryData(["held"], { leftMs: 1_000 });
  expect(answeredAtMs(observer.getCurrentResult().data!, 4_000)).toBe(4_000);
});
