-- How far the audit was sent to a syslog server, which this release does not do.
drop table audit_syslog_positions;
