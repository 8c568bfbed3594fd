import { type BrowserContext, expect, type Page, test } from "@playwright/test";
import { totpCode } from "../lib/guard/sign-in/totp.ts";
import { whenReady } from "./fixtures.ts";
import { startProduct } from "./product.ts";
import { violations } from "./support/axe.ts";

const PASSWORD = "four words by chance";

type Running = Awaited<ReturnType<typeof startProduct>>;

/** A product of its own: everybody must sign in there, on the loopback address too. */
let running: Running;
let firstLink = "";

test.beforeAll(async () => {
  test.setTimeout(180_000);
  running = await startProduct("sign-in", {
    env: { PARKADE_SIGN_IN: "always", PARKADE_SECOND_FACTOR: "operator" },
    say: (line) => {
      firstLink = /first account.*(http\S+)/.exec(line)?.[1] ?? firstLink;
    },
    asShipped: true,
  });
});

test.afterAll(() => running?.stop());

// Takes 30 to 40 s: one story, because each step needs the people and sessions of the steps before it.
test("from the first link to a person who may do little, and back after its session was ended", async ({ browser }) => {
  const { url } = running.product;
  const complaints: string[] = [];
  const open = async () => pageOf(await browser.newContext({ baseURL: url }), complaints);
  const ada = await open();

  await test.step("whoever comes must sign in, and is told where the first link stands", async () => {
    await ada.goto("/events?status=PENDING");
    await expect(ada).toHaveURL(/\/sign-in\?to=/);
    await expect(ada.getByText("The link to create the first one was printed when Parkade started")).toBeVisible();
    await expect(ada.getByRole("navigation", { name: "Pages" })).toHaveCount(0);
    expect(await violations(ada)).toEqual([]);
    await ada.getByRole("textbox", { name: "Name" }).fill("nobody");
    await ada.getByRole("textbox", { name: "Password" }).fill("a guess that is wrong");
    await ada.getByRole("button", { name: "Sign in" }).click();
    await expect(ada.getByText("You are not signed in")).toBeVisible();
  });

  await test.step("the link makes the first administrator, once", async () => {
    expect(firstLink).toContain(`${url}/sign-in/link#`);
    await choosePassword(ada, firstLink, "Ada Lovelace");
    await expect(ada.getByRole("button", { name: "Signed in as Ada Lovelace" })).toBeVisible();
    const late = await open();
    await late.goto(firstLink);
    await expect(late.getByText("The link cannot be used")).toBeVisible();
    await late.context().close();
  });

  await test.step("two teams have their sources", async () => {
    for (const name of ["alpha", "beta"]) {
      await post(ada, "/api/v1/sources", { name, kind: "http", config: { redriveUrl: "http://127.0.0.1:9/orders" } });
      await post(ada, "/api/v1/events", [
        { source: name, eventId: `${name}-1`, eventType: "Order", errorCode: "TIMEOUT", payload: { of: name } },
      ]);
    }
  });

  const linkOfOlga = await test.step("the administrator makes an account for one source", async () => {
    await ada.goto("/people");
    expect(await violations(ada)).toEqual([]);
    await ada.getByRole("button", { name: "Create account…" }).click();
    const dialog = ada.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Olga");
    await dialog.getByRole("button", { name: "Create account" }).click();
    // Every source is chosen, and not what an empty field gives.
    await expect(dialog.getByText("Enter a source, or choose all sources")).toBeVisible();
    await dialog.getByLabel("Role", { exact: true }).selectOption("operator");
    await dialog.getByLabel("Names of the sources").fill("alpha");
    await dialog.getByRole("button", { name: "Create account" }).click();
    const link = ada.getByRole("dialog", { name: "The link for Olga" }).locator("pre");
    await expect(link).toContainText("/sign-in/link#");
    // It cannot be shown again: its button alone closes it.
    await ada.keyboard.press("Escape");
    await expect(link).toContainText("/sign-in/link#");
    return (await link.textContent())!;
  });

  const olga = await open();
  const { secret, recovery } =
    await test.step("whose role demands a second factor adds one before the console opens", async () => {
      await choosePassword(olga, linkOfOlga);
      await expect(olga).toHaveURL(/\/sign-in\/second-factor\?to=/);
      await olga.goto("/events?source=alpha");
      await expect(olga).toHaveURL(/\/sign-in\/second-factor\?to=/);
      await expect(olga.getByText("Your role requires a second factor")).toBeVisible();
      await expect(olga.getByRole("navigation", { name: "Pages" })).toHaveCount(0);
      expect(await violations(olga)).toEqual([]);
      await ada.goto("/people");
      await expect(ada.getByRole("row").filter({ hasText: "Olga" })).toContainText("must add a second factor");

      await olga.getByRole("button", { name: "Add a second factor…" }).click();
      await olga.getByLabel("Confirm your password").fill(PASSWORD);
      await olga.getByRole("button", { name: "Continue" }).click();
      const shown = await olga.getByText("Or enter this secret:").locator("span").textContent();
      await olga.getByLabel("Code").fill(totpCode(fromBase32(shown!), stepNow()));
      await olga.getByRole("button", { name: "Confirm" }).click();
      const codes = olga.getByRole("dialog", { name: "Save your recovery codes" }).locator("pre");
      await expect(codes).toBeVisible();
      const text = (await codes.textContent())!;
      await olga.getByRole("button", { name: "Done" }).click();
      await expect(olga).toHaveURL(/\/events\?source=alpha$/);
      return { secret: fromBase32(shown!), recovery: text.split("\n") };
    });

  await test.step("who has one source sees that source, and why other things are not for it", async () => {
    await olga.goto("/account");
    await expect(olga.getByRole("heading", { level: 1 })).toBeVisible();
    expect(await violations(olga)).toEqual([]);
    await olga.goto("/events");
    await expect(olga.getByRole("checkbox", { name: "Select event alpha-1" })).toBeVisible();
    await expect(olga.getByText("beta-1")).toHaveCount(0);
    const stop = olga.getByRole("button", { name: "Stop all sends" });
    await expect(stop).toHaveAttribute("aria-disabled", "true");
    await stop.hover();
    await expect(olga.getByText("You may redrive only for alpha, and this concerns every source")).toBeVisible();
    await olga.goto("/targets");
    await olga.getByRole("button", { name: "Stop sends to alpha", exact: true }).click();
    const dialog = olga.getByRole("dialog", { name: "Stop sends to alpha?" });
    await dialog.getByRole("textbox", { name: "Reason" }).fill("alpha answers with wrong data");
    await dialog.getByRole("button", { name: "Stop sends to alpha" }).click();
    await expect(olga.getByRole("region", { name: "Stopped sends" })).toContainText(
      "Sends to alpha are stopped by Olga",
    );
    await olga.goto("/sources");
    await expect(olga.getByRole("link", { name: "alpha", exact: true })).toBeVisible();
    const connect = olga.getByRole("button", { name: "Connect a source…" });
    await expect(connect).toHaveAttribute("aria-disabled", "true");
    await connect.click({ force: true });
    await expect(olga.getByRole("dialog")).toHaveCount(0);
    await olga.goto("/people");
    await expect(olga.getByText("Only administrators can manage accounts")).toBeVisible();
  });

  await test.step("and asked for at the next sign-in", async () => {
    await olga.getByRole("button", { name: "Signed in as Olga" }).click();
    await olga.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(olga).toHaveURL(/\/sign-in$/);
    // On a slow line the fields appear before the scripts run: typed text stays.
    const scripts = Promise.withResolvers<void>();
    await olga.route("**/_next/**/*.js", (route) => scripts.promise.then(() => route.continue()));
    await olga.goto("/sign-in", { waitUntil: "commit" });
    await olga.getByRole("textbox", { name: "Name" }).fill("Olga");
    await olga.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
    await expect(olga.getByRole("button", { name: "Sign in" })).toBeDisabled();
    scripts.resolve();
    await olga.getByRole("button", { name: "Sign in" }).click();
    // The code of the present step was used: each works once.
    await olga.getByLabel("Code").fill(totpCode(secret, stepNow() + 1));
    await olga.getByRole("button", { name: "Sign in" }).click();
    await expect(olga.getByRole("button", { name: "Signed in as Olga" })).toBeVisible();
  });

  await test.step("a session that is ended sends to the sign-in, and a recovery code leads back to the page", async () => {
    await olga.goto("/events?source=alpha");
    await expect(olga.getByRole("checkbox", { name: "Select event alpha-1" })).toBeVisible();
    await ada.reload();
    await ada.getByRole("button", { name: "More about Olga" }).click();
    await ada.getByRole("menuitem", { name: /^Sign out everywhere \(\d+\)…$/ }).click();
    await expect(olga.getByRole("button", { name: "Signed in as Olga" })).toBeVisible();
    await ada.getByRole("button", { name: "Sign out everywhere" }).click();
    await expect(ada.getByText("Signed Olga out everywhere")).toBeVisible();
    // The next read of the page is refused, without a click.
    await expect(olga).toHaveURL(/\/sign-in\?to=/);
    await signIn(olga, "Olga");
    await olga.getByLabel("Code").fill(recovery[0]!);
    await olga.getByRole("button", { name: "Sign in" }).click();
    await expect(olga).toHaveURL(/\/events\?source=alpha$/);
    await expect(olga.getByRole("checkbox", { name: "Select event alpha-1" })).toBeVisible();
    await expect(olga.getByRole("button", { name: "Signed in as Olga" })).toBeVisible();
  });

  await test.step("a program gets its token by a code, which is confirmed after a sign-in that leads back to it", async () => {
    const asked = await send(`${url}/api/v1/device-sign-ins`, { name: "parkade on laptop" });
    const page = await open();
    await page.goto(String(asked.url));
    await expect(page).toHaveURL(/\/sign-in\?to=/);
    await signIn(page, "Ada Lovelace");
    await expect(page.getByText(String(asked.userCode), { exact: true })).toBeVisible();
    await expect(page.getByText("parkade on laptop (self-reported)")).toBeVisible();
    await expect(page.getByText("Confirm only if you started this")).toBeVisible();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Permissions").selectOption({ label: "Selected permissions" });
    await page.getByRole("checkbox", { name: "view", exact: true }).check();
    await page.getByRole("button", { name: "Confirm" }).click();
    await expect(page.getByRole("heading", { name: "The program is signed in" })).toBeVisible();
    const { secret: token } = await send(`${url}/api/v1/device-sign-ins/take`, { deviceSecret: asked.deviceSecret });
    const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(await me.json()).toMatchObject({ name: "Ada Lovelace", means: "token", actions: ["view"] });
    await page.reload();
    await expect(page.getByRole("heading", { name: "There is nothing to confirm" })).toBeVisible();
  });

  expect(complaints).toEqual([]);
});

/** As a program without a browser. */
async function send(address: string, body: object): Promise<Record<string, unknown>> {
  const headers = { "content-type": "application/json" };
  return (await fetch(address, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

/** Faults of scripts and of the policy of pages, but not the refusals that the journey means. */
async function pageOf(context: BrowserContext, complaints: string[]): Promise<Page> {
  const page = await whenReady(await context.newPage());
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().includes("the server responded with a status of"))
      complaints.push(message.text());
  });
  return page;
}

async function choosePassword(page: Page, link: string, name?: string): Promise<void> {
  // The address differs from the present one behind its # alone, otherwise.
  await page.goto("about:blank");
  await page.goto(link);
  if (name !== undefined) await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("textbox", { name: "Password", exact: true }).fill(PASSWORD);
  await page.getByLabel("Confirm the password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set the password and sign in" }).click();
}

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** By the page's own session, as its scripts would. */
async function post(page: Page, path: string, body: unknown): Promise<void> {
  const status = await page.evaluate(
    async ([to, sent]) =>
      (
        await fetch(to as string, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(sent),
        })
      ).status,
    [path, body],
  );
  expect(status, path).toBeLessThan(300);
}

const stepNow = () => Math.floor(Date.now() / 30_000);

function fromBase32(text: string): Buffer {
  const bits = [...text.replace(/\s/g, "")]
    .map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
