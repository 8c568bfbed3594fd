import { testKilledSealing } from "@/lib/guard/audit-chain/testing/killed-sealing";

testKilledSealing([[{ batch: 2, committed: false }, 1_000]]);
