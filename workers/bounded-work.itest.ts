import { boundedWork } from "@/lib/testing/bounded-work";
import { testDatabase } from "@/lib/testing/postgres";

boundedWork(30_000, { open: testDatabase, told: 5_000_000 });
