import { readFile } from "node:fs/promises";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from "@prisma/driver-adapter-utils";
import * as engine from "@prisma/schema-engine-wasm/schema_engine_bg";

const WASM = "node_modules/@prisma/schema-engine-wasm/schema_engine_bg.wasm";

/** Columns of PostgreSQL's one-byte type "char" in the engine's queries, which the adapter refuses to read. */
const CHAR_COLUMN = /\bconstr\.(contype) AS (\w+)|\bcon\.(conf(?:del|upd)type)(?=,\n)/g;

/** The engine of `prisma db pull` and `prisma migrate diff`, without the binary that the CLI downloads. */
export async function openSchemaEngine(databaseUrl: string): Promise<engine.SchemaEngine> {
  const { instance } = await WebAssembly.instantiate(await readFile(WASM), { "./schema_engine_bg.js": engine });
  engine.__wbg_set_wasm(instance.exports);
  (instance.exports.__wbindgen_start as () => void)();
  return engine.SchemaEngine.new({ datamodels: undefined }, () => undefined, adapter(databaseUrl));
}

function adapter(databaseUrl: string) {
  const factory = new PrismaPg({ connectionString: databaseUrl });
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const connection = await connect();
    const queryRaw = connection.queryRaw.bind(connection);
    connection.queryRaw = async (query) => {
      const chars = new Set<string>();
      const sql = query.sql.replace(CHAR_COLUMN, (_, type = "", name = "", action = "") => {
        chars.add(name || action);
        return type ? `constr.${type}::text AS ${name}` : `con.${action}::text`;
      });
      const result = await queryRaw({ ...query, sql });
      const columnTypes = result.columnTypes.map((type, index) =>
        chars.has(result.columnNames[index]!) ? ColumnTypeEnum.Character : type,
      );
      return { ...result, columnTypes };
    };
    return connection;
  };
  return bindMigrationAwareSqlAdapterFactory(factory);
}
