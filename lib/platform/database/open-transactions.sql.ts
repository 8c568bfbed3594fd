/**
 * SQL: the other open transactions of this database, as a text[]. Every transaction that is not among them sees what was
 * committed before this is read. Reads the server's lock table: for occasional work only.
 */
export const OPEN_TRANSACTIONS = `array(
  select l.virtualxid from pg_locks l left join pg_stat_activity a on a.pid = l.pid
   where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and l.pid <> pg_backend_pid()
     and (a.pid is null or (a.usesysid is not null and a.datname = current_database())))`;
