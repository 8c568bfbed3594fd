-- A longer retention rule keeps events.
drop table legal_holds;
-- Accounts and tokens are shown with their actions, and "hold" is none of them any more. An empty list allows nothing.
update accounts set actions = array_remove(actions, 'hold') where 'hold' = any(actions);
update api_tokens set actions = array_remove(actions, 'hold') where 'hold' = any(actions);
update device_sign_ins set actions = array_remove(actions, 'hold') where 'hold' = any(actions);
