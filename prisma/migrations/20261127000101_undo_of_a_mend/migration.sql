-- The undos of a mend are looked up by the mend: for each mend of a list, and before an undo.
create index bulk_operations_undo on bulk_operations ((selection ->> 'operation')) where kind = 'undo-mend';
