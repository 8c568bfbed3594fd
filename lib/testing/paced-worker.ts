import { runWorker } from "@/workers/run-worker";

/** The worker process of tests; its paces are its argument, as JSON. */
runWorker(JSON.parse(process.argv[2]!));
