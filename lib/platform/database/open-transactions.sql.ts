/**
 * SQL: the transactions of this database that are open, but this one, as a text[]. What another transaction has committed before
 * this is read is seen by every transaction that is not among them. Reads of the server's memory: for work that is done now
 * and then.
 */
export const OPEN_TRANSACTIONS = `array(
  select l.virtualxid from pg_locks l left join pg_stat_activity a on a.pid = l.pid
   where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and l.pid <> pg_backend_pid()
     and (a.pid is null or (a.usesysid is not null and a.datname = current_database())))`;
