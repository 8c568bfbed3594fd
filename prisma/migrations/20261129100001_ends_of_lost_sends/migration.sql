-- Sends whose worker was lost, and whose item was cancelled or ignored before another worker claimed it, had no end: nobody
-- looked at them again. The target may have received them.
update redrive_attempts a
   set state = 'ambiguous', closed_at = now(), code = 'WORKER_LOST',
       detail = 'the worker stopped between send and mark: it may have been delivered'
  from redrive_items i
 where i.id = a.id and i.redrive_id = a.redrive_id and a.state = 'open' and i.state <> 'open';
