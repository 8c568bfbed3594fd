// Loaded before a child's own code (`node --import scripts/tied.mjs ...`): ends the child when its launcher dies in any
// way, kill -9 included, because then the IPC channel closes. Without it web and worker would live on unseen.

/** What the child gets to put down what it holds before it is ended hard. */
const GRACE_MS = 8_000;

if (process.channel) {
  process.once("disconnect", () => {
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => process.kill(process.pid, "SIGKILL"), GRACE_MS).unref();
  });
  // The channel alone must not keep alive a child that is done.
  process.channel.unref();
  // The launcher read our output; with nobody reading, a log line must not throw in the middle of the shutdown.
  process.stdout.on("error", () => undefined);
  process.stderr.on("error", () => undefined);
}
