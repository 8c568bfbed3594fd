/**
 * SQL: the newest check of the audit whose finding stands, as one row or none. A finding stands until a later check of everything is
 * good that could read every anchor, and was given some where that with the finding was: others do not look there again. The
 * page, the metric and the alert all read it.
 */
export const STANDING_FINDING = `select v.* from audit_verifications v
  where v.good = false and not exists (select from audit_verifications w
    where w.id > v.id and w.extent = 'whole' and w.good and w.fault is null
      and (v.anchors is null or w.anchors is not null))
  order by v.id desc limit 1`;
