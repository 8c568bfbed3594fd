import { boundedWork } from "@/lib/testing/bounded-work";
import { databaseOnDisk } from "@/lib/testing/postgres-on-disk";

boundedWork(5_000_000, { open: databaseOnDisk });
