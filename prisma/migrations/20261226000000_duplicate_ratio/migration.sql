-- Contracts of sources promise a share of duplicates (document 001, data plane); those that are stored get the default.
update sources set contract = contract || '{"duplicateRatio": 0.01}' where contract is not null and not contract ? 'duplicateRatio';
