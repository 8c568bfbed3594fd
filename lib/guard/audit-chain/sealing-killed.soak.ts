import { testKilledSealing } from "@/lib/guard/audit-chain/testing/killed-sealing";

testKilledSealing([
  [{ batch: 1, committed: false }, 0],
  [{ batch: 2, committed: true }, 2_000],
]);
