/**
 * SQL: the newest check of the audit whose finding stands, as one row or none. A finding stands until a later check of everything is
 * good and could read every anchor. The page, the metric and the alert all read it.
 */
export const STANDING_FINDING = `select v.* from audit_verifications v
  where v.good = false and not exists (select from audit_verifications w
    where w.id > v.id and w.extent = 'whole' and w.good and w.fault is null)
  order by v.id desc limit 1`;
